// Apply the chosen theme before the first paint; if none was chosen, the system's theme is used.
(() => {
  const theme = localStorage.getItem("recollect.theme");
  if (theme) document.documentElement.dataset.theme = theme;
})();
