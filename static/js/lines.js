// Numbers the lines of a long text while one edits it, and jumps to a line that something is wrong with.
import { onChange } from './page.js';

function number(box) {
  const field = box.querySelector('textarea');
  if (!field) return;
  const gutter = document.createElement('div');
  gutter.className = 'gp-lines__gutter';
  gutter.setAttribute('aria-hidden', 'true');
  const inner = gutter.appendChild(document.createElement('div'));
  let shown = 0;
  const mark = () => {
    const marked = new Set((field.dataset.marked ?? '').split(' ').filter(Boolean).map(Number));
    for (const [n, line] of [...inner.children].entries()) line.classList.toggle('gp-lines__marked', marked.has(n + 1));
  };
  const fill = () => {
    const count = field.value.split('\n').length;
    for (; shown < count; shown++) {
      const line = inner.appendChild(document.createElement('span'));
      line.textContent = String(shown + 1);
    }
    for (; shown > count; shown--) inner.lastChild.remove();
  };
  const follow = () => { gutter.scrollTop = field.scrollTop; };
  field.addEventListener('input', () => { fill(); follow(); });
  field.addEventListener('scroll', follow);
  field.addEventListener('gp-marked', mark);
  box.prepend(gutter);
  box.dataset.numbered = '';
  fill();
  mark();
}

function jump(field, line) {
  const lines = field.value.split('\n');
  const at = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  field.focus();
  field.setSelectionRange(at, at + (lines[line - 1]?.length ?? 0));
  const height = parseFloat(getComputedStyle(field).lineHeight) || 20;
  field.scrollTop = Math.max(0, (line - 4) * height);
  field.scrollLeft = 0;
  field.scrollIntoView({ block: 'nearest' });
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-line]');
  const field = link && document.getElementById(link.dataset.lineOf);
  if (!field) return;
  event.preventDefault();
  jump(field, Number(link.dataset.line));
});

onChange(() => {
  for (const box of document.querySelectorAll('[data-lines]:not([data-numbered])')) number(box);
});
