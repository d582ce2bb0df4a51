/* Each button of the ledger hides the claims of its status or of its outcome. */
(() => {
  const buttons = document.querySelectorAll('.verdicts button');
  const pressed = (b) => b.getAttribute('aria-pressed') === 'true';
  const show = () => {
    const off = new Set([...buttons].filter((b) => !pressed(b)).map((b) => `${b.dataset.axis} ${b.dataset.name}`));
    for (const claim of document.querySelectorAll('.claim'))
      claim.hidden = off.has(`status ${claim.dataset.status}`) || off.has(`ours ${claim.dataset.ours}`);
  };
  buttons.forEach((b) => b.addEventListener('click', () => {
    b.setAttribute('aria-pressed', !pressed(b));
    show();
  }));
})();
