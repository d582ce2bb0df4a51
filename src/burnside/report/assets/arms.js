/* Each button beside a plot hides the curves that carry its label. */
document.querySelectorAll('.arms button').forEach((b) => b.addEventListener('click', () => {
  const on = b.getAttribute('aria-pressed') !== 'true';
  b.setAttribute('aria-pressed', on);
  for (const g of b.closest('figure').querySelectorAll('svg [data-arm]'))
    if (g.dataset.arm === b.dataset.shows) g.classList.toggle('off', !on);
}));
