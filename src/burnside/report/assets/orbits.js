/* Hovering or focusing lights up an orbit and its members. A tap or Enter keeps it lit, Escape releases it, and the
   arrow keys move within a panel. */
(() => {
  'use strict';
  for (const view of document.querySelectorAll('.orbits')) {
    const status = view.querySelector('.status'), idle = status.textContent;
    const parts = new Map();
    const add = (k, e) => { if (!parts.has(k)) parts.set(k, []); parts.get(k).push(e); };
    for (const e of view.querySelectorAll('[data-orbit]')) add(e.dataset.orbit, e);
    for (const e of view.querySelectorAll('[data-a]')) {
      add(e.dataset.a, e);
      if (e.dataset.b !== e.dataset.a) add(e.dataset.b, e);
    }
    let lit = null, kept = null;
    const press = (k, yes) => {
      for (const e of parts.get(k) || []) if (e.hasAttribute('aria-pressed')) e.setAttribute('aria-pressed', yes);
    };
    const light = (k, name) => {
      if (lit !== k) {
        for (const e of parts.get(lit) || []) e.classList.remove('on');
        for (const e of parts.get(k) || []) e.classList.add('on');
        view.classList.toggle('dim', k !== null);
        lit = k;
      }
      const entry = k === null ? null : view.querySelector('.legend [data-orbit="' + k + '"]');
      status.textContent = entry ? (name ? name + ' is in ' : '') + entry.dataset.says : idle;
      status.style.borderColor = entry ? getComputedStyle(entry).getPropertyValue('--k') : '';
    };
    const keep = (k) => {
      if (kept !== null) press(kept, 'false');
      kept = kept === k ? null : k;
      if (kept !== null) press(kept, 'true');
    };
    const at = (event) => event.target.closest ? event.target.closest('[data-orbit]') : null;
    const show = (e) => e ? light(e.dataset.orbit, e.dataset.name) : light(kept);
    view.addEventListener('pointerover', (event) => { if (event.pointerType !== 'touch') show(at(event)); });
    view.addEventListener('pointerleave', () => light(kept));
    view.addEventListener('focusin', (event) => { if (at(event)) show(at(event)); });
    view.addEventListener('focusout', () => light(kept));
    view.addEventListener('click', (event) => {
      const e = at(event);
      if (!e && !event.target.closest('svg')) return;
      keep(e ? e.dataset.orbit : null);
      show(e && kept !== null ? e : null);
    });
    for (const group of view.querySelectorAll('[data-roving]')) {
      const items = [...group.querySelectorAll('[tabindex]')];
      group.addEventListener('keydown', (event) => {
        const here = items.indexOf(event.target.closest('[tabindex]'));
        if (here < 0) return;
        const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
        let next = event.key in steps ? here + steps[event.key] : here;
        if (event.key === 'Home') next = 0;
        if (event.key === 'End') next = items.length - 1;
        next = (next + items.length) % items.length;
        if (next !== here) {
          event.preventDefault();
          items[here].setAttribute('tabindex', '-1');
          items[next].setAttribute('tabindex', '0');
          items[next].focus();
        } else if ((event.key === 'Enter' || event.key === ' ') && !event.target.closest('button')) {
          event.preventDefault();
          keep(items[here].dataset.orbit);
          show(items[here]);
        }
      });
    }
    view.addEventListener('keydown', (event) => { if (event.key === 'Escape') { keep(null); light(null); } });
  }
})();
