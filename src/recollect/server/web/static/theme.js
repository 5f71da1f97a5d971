// Light or dark, chosen before anything is drawn; without a choice, as the system has it.
(() => {
  const kept = localStorage.getItem("recollect.theme");
  if (kept) document.documentElement.dataset.theme = kept;
})();
