/* The table of contents becomes a bar that shows one section, or everything. Without this script it stays a list of
   links. A link into a hidden section (from the ledger, or from outside by #name) opens its tab. */
(() => {
  const nav = document.querySelector('nav.toc'), main = document.querySelector('main');
  if (!nav || !main) return;
  const list = nav.querySelector('ol'), all = document.createElement('li');
  all.innerHTML = '<a href="#">Everything</a>';
  all.setAttribute('role', 'presentation');
  list.prepend(all);
  const mark = document.createElement('span');
  nav.before(mark);
  nav.classList.add('tabs');
  main.classList.add('tabbed');
  list.setAttribute('role', 'tablist');
  const tabs = [...list.querySelectorAll('a')], sections = [...main.querySelectorAll(':scope > section')];
  const key = (tab) => decodeURIComponent(tab.getAttribute('href').slice(1));
  for (const tab of tabs) {
    tab.setAttribute('role', 'tab');
    tab.parentElement.setAttribute('role', 'presentation');
    if (!key(tab)) continue;
    tab.setAttribute('aria-controls', key(tab));
    tab.setAttribute('aria-label', tab.textContent);  // the whole title, which the section shows too
    tab.title = tab.textContent;
    tab.textContent = key(tab);
  }
  const show = (name) => {
    for (const tab of tabs) {
      const on = key(tab) === name;
      tab.setAttribute('aria-selected', on);
      tab.tabIndex = on ? 0 : -1;
      if (on) list.scrollTo({left: tab.offsetLeft - list.offsetLeft - 40});
    }
    for (const s of sections) s.classList.toggle('away', name !== '' && s.id !== name);
  };
  const choose = (tab) => {
    show(key(tab));
    history.replaceState(null, '', key(tab) ? tab.getAttribute('href') : location.pathname + location.search);
    if (nav.getBoundingClientRect().top <= 0) mark.scrollIntoView();  // the section begins below the bar
  };
  tabs.forEach((tab, k) => {
    tab.addEventListener('click', (event) => { event.preventDefault(); choose(tab); });
    tab.addEventListener('keydown', (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      const to = event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : k + (step || 0);
      if (to === k && event.key !== ' ') return;
      event.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length];
      next.focus();
      choose(next);
    });
  });
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = target && sections.find((s) => s.contains(target));
    if (!section || !section.classList.contains('away')) return;
    show(section.id);
    target.scrollIntoView();
  };
  addEventListener('hashchange', follow);
  show(document.getElementById('overview') ? 'overview' : '');  // the front page, if there is one
  const first = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const inside = first && sections.find((s) => s.contains(first));
  if (inside) show(inside.id);
})();
