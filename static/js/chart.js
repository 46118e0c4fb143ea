// Says the value of a chart under the pointer, with its time, in place of the newest one.
import { clock, locale, onChange } from './page.js';

const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
const newest = new WeakMap(), shown = new WeakMap();
let pointer; // where it is over a chart

const inUnit = (n, unit) => (unit === '%' && /^(zh|ko)/.test(locale) ? n + unit : `${n} ${unit}`.trim());

function readout(svg, x) {
  const values = svg.dataset.chart.split(',');
  const box = svg.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (x - box.left) / box.width));
  const i = Math.round(share * (values.length - 1));
  const step = Number(svg.dataset.chartStep);
  const at = new Date(Number(svg.dataset.chartFrom) + i * step);
  const long = step * values.length > 24 * 3_600_000;
  const when = step >= 24 * 3_600_000 ? day.format(at) : `${long ? day.format(at) + ', ' : ''}${clock(at)}`;
  const expected = i >= Number(svg.dataset.chartKnown ?? Infinity) ? `${svg.dataset.chartAhead} ` : '';
  const amount = inUnit(number.format(Number(values[i])), svg.dataset.chartUnit);
  const value = values[i] === '' ? svg.dataset.chartUnknown : (svg.dataset.chartSign ?? '') + amount;
  return { i, share: values.length > 1 ? i / (values.length - 1) : 1, words: `${when} · ${expected}${value}` };
}

function show(svg, x) {
  const value = svg.closest('.gp-chart').querySelector('[data-chart-value]');
  if (value.textContent !== shown.get(value)) newest.set(value, [...value.childNodes]);
  const { share, words } = readout(svg, x);
  const { width, height } = svg.viewBox.baseVal;
  value.textContent = words;
  shown.set(value, words);
  svg.querySelector('.gp-chart__cursor').setAttribute('d', `M${(share * width).toFixed(1)} 0V${height}`);
}

function leave(svg) {
  const value = svg.closest('.gp-chart').querySelector('[data-chart-value]');
  if (newest.has(value)) value.replaceChildren(...newest.get(value));
  newest.delete(value);
  shown.delete(value);
  svg.querySelector('.gp-chart__cursor').setAttribute('d', '');
}

document.addEventListener('pointermove', (event) => {
  const svg = event.target.closest?.('svg[data-chart]');
  pointer = svg ? { x: event.clientX, y: event.clientY } : undefined;
  if (svg) show(svg, event.clientX);
});
// a chart that is drawn anew under the pointer goes on saying what is there
onChange(() => {
  const svg = pointer && document.elementFromPoint(pointer.x, pointer.y)?.closest('svg[data-chart]');
  if (svg) show(svg, pointer.x);
});
document.addEventListener('pointerout', (event) => {
  const svg = event.target.closest?.('svg[data-chart]');
  if (!svg || svg.contains(event.relatedTarget)) return;
  pointer = undefined;
  leave(svg);
});

// stacked columns say what the one under the pointer holds
document.addEventListener('pointerover', (event) => {
  const column = event.target.closest?.('[data-column]');
  const value = event.target.closest?.('.gp-columns')?.querySelector('[data-chart-value]');
  if (!column || !value) return;
  if (!newest.has(value)) newest.set(value, [...value.childNodes]);
  value.textContent = column.dataset.column;
});
document.addEventListener('pointerout', (event) => {
  const svg = event.target.closest?.('svg[data-columns]');
  if (!svg || svg.contains(event.relatedTarget)) return;
  const value = svg.closest('.gp-columns').querySelector('[data-chart-value]');
  if (newest.has(value)) value.replaceChildren(...newest.get(value));
  newest.delete(value);
});
