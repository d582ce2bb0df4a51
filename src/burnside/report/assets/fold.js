/* Paper cannot be clicked: every table is open while it is printed. */
(() => {
  const tables = [...document.querySelectorAll('details.folded')];
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = tables.filter((table) => !table.open);
    for (const table of closed) table.open = true;
  });
  addEventListener('afterprint', () => {
    for (const table of closed) table.open = false;
  });
})();
