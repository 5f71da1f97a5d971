// Apply the chosen theme before the first paint; without a choice, the system's is used.
(() => {
  const theme = localStorage.getItem("recollect.theme");
  if (theme) document.documentElement.dataset.theme = theme;
})();
