// Builds patternfly.css, the part of PatternFly that the portal uses, from an unpacked copy of the npm package:
//
//   npm pack @patternfly/patternfly@6.6.1   (in a folder outside the tree; unpack it there)
//   node static/vendor/patternfly-6.6.1/subset.mjs <unpacked folder> > static/vendor/patternfly-6.6.1/patternfly.css
//
// It keeps the base rules and the components listed below, leaves out themes and modifiers that no page of ours uses,
// and drops custom properties that nothing reads. Rules of the dark theme appear twice: for the class
// pf-v6-theme-dark (chosen by the person) and, inside a media query, for pf-v6-theme-auto (what the system prefers).
// Afterwards: node this-file --sums prints the checksums for ../vendor.json.

import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';

const COMPONENTS = [
  'Alert/alert', 'Badge/badge', 'Breadcrumb/breadcrumb', 'Button/button', 'Card/card', 'Check/check',
  'CodeBlock/code-block', 'Content/content', 'DescriptionList/description-list', 'Divider/divider',
  'EmptyState/empty-state', 'Form/form', 'FormControl/form-control', 'HelperText/helper-text',
  'InputGroup/input-group', 'Label/label', 'List/list', 'ModalBox/modal-box', 'Radio/radio', 'Skeleton/skeleton',
  'Spinner/spinner', 'Table/table', 'Tabs/tabs', 'Title/title', 'ToggleGroup/toggle-group',
];

// A selector that matches one of these can never apply in our pages.
const UNUSED = [
  /theme-(glass|felt|high-contrast|redhat)|icon-set|dir=rtl|m-dir-/,
  /\.fa[srbl]?\b|\.fa-|pficon|pf-v6-svg|pf-v6-m-(ai|thinking|legacy|mirror)/,
  /pf-v6-c-(menu|date-picker|file-upload|text-input-group|number-input|dropdown|popover|data-list|wizard|drawer|page|masthead|toolbar|chip|accordion|switch|clipboard|expandable|avatar|nav|tree|compass|hero|hint|toggle-group__icon|label-group|dual-list|code-editor|calendar)/,
  /__(favorite|compound|draggable|action-list|nested|subhead|button-icon--hamburger|selectable|toggle-icon|expand|group-toggle|editable|tabs__scroll|scroll-button|add)/,
  /\[class\*=|::-webkit-scrollbar/,
];
// The modifiers we use; a selector with any other one falls out (what stands inside :not() does not count).
const MODIFIERS = new Set(`primary secondary tertiary link danger warning success info custom plain inline small block disabled
  in-progress progress control start end icon read-only clickable compact grid grid-md fill current text outline filled
  blue teal green orange orangered purple red yellow grey gray center error horizontal sm md lg xl 2xl 3xl 4xl textarea resize-vertical
  resize-both selected status required 2-col width-75 width-50 width-25 action multi-line truncate nowrap wrap fit-content
  standalone reverse stacked box aria-disabled expanded display-lg bordered striped read unread width-limit`.split(/\s+/));
const unknownModifier = (s) => [...s.replace(/:not\([^()]*(\([^()]*\)[^()]*)*\)/g, '').matchAll(/\.pf-m-([\w-]+)/g)].some((m) => !MODIFIERS.has(m[1]));
const WANTED_FONT = { RedHatText: 'RedHatTextVF', RedHatDisplay: 'RedHatDisplayVF', RedHatMono: 'RedHatMonoVF' };

// parse returns a list of {head, body} (a rule) or {head, rules} (an at-rule with rules inside).
function parse(css) {
  css = css.replace(/\/\*[\s\S]*?\*\//g, '');
  let at = 0;
  const list = () => {
    const rules = [];
    for (;;) {
      const brace = css.indexOf('{', at), end = css.indexOf('}', at), semi = css.indexOf(';', at);
      if (brace < 0 || (end >= 0 && end < brace)) { at = end < 0 ? css.length : end + 1; return rules; }
      if (semi >= 0 && semi < brace) { at = semi + 1; continue; } // @charset, @import
      const head = css.slice(at, brace).trim().replace(/\s+/g, ' ');
      at = brace + 1;
      if (/^@(media|supports|container|layer|keyframes|-webkit-keyframes)/.test(head)) rules.push({ head, rules: list() });
      else { const stop = css.indexOf('}', at); rules.push({ head, body: css.slice(at, stop) }); at = stop + 1; }
    }
  };
  return list();
}

const declarations = (body) => body.split(/;(?![^(]*\))/).map((d) => d.trim().replace(/\s+/g, ' ')).filter(Boolean);

// selectors splits a list at its top-level commas.
function selectors(head) {
  const out = []; let depth = 0, from = 0;
  for (let i = 0; i < head.length; i++) {
    if ('([ '.includes(head[i]) && head[i] !== ' ') depth++;
    else if (')]'.includes(head[i])) depth--;
    else if (head[i] === ',' && depth === 0) { out.push(head.slice(from, i).trim()); from = i + 1; }
  }
  return [...out, head.slice(from).trim()];
}

function keep(rules) {
  const out = [];
  for (const r of rules) {
    if (r.rules) {
      if (/keyframes/.test(r.head)) { out.push({ ...r, rules: r.rules.map((k) => ({ head: k.head, decls: declarations(k.body) })) }); continue; }
      const inner = keep(r.rules).map((k) => ({ ...k, inside: true }));
      if (inner.length) out.push({ head: r.head, rules: inner });
      continue;
    }
    if (r.head === '@font-face') continue;
    const heads = r.head.startsWith('@') ? [r.head] : selectors(r.head).filter((s) => !UNUSED.some((u) => u.test(s)) && !unknownModifier(s));
    if (heads.length) out.push({ head: heads.join(','), decls: declarations(r.body) });
  }
  return out;
}

const walk = (rules, visit) => rules.forEach((r) => (r.rules ? walk(r.rules, visit) : visit(r)));

// shake removes custom properties that no declaration reads, until nothing more falls off.
function shake(rules) {
  for (;;) {
    const read = new Set();
    walk(rules, (r) => r.decls.forEach((d) => { for (const m of d.slice(d.indexOf(':')).matchAll(/--[\w-]+/g)) read.add(m[0]); }));
    let dropped = 0;
    walk(rules, (r) => {
      const left = r.decls.filter((d) => !d.startsWith('--') || read.has(d.slice(0, d.indexOf(':')).trim()) || OURS.test(d));
      dropped += r.decls.length - left.length;
      r.decls = left;
    });
    if (!dropped) return;
  }
}

// Tokens that our own style sheets may read stay, whether PatternFly reads them or not.
const OURS = /^--pf-t--global--(text--color--(regular|subtle|inverse|disabled|on-status|on-brand|link|status|brand)|icon--color--(regular|subtle|status|brand)|background--color--(primary|secondary|tertiary|floating|disabled|backdrop)--|border--(color--(default|subtle|status|brand|hover|clicked|control)|width--(regular|strong)|radius--(small|medium|large|pill))|color--(brand|status|nonstatus)--|spacer--(xs|sm|md|lg|xl|2xl|3xl)|font--(family|weight--body|weight--heading|size--(body|heading))|box-shadow--(sm|md|lg)|motion--(duration--fade|timing)|z-index|focus-ring)/;

// bare drops declarations of the dark theme that say what the light one already says.
function bare(rules) {
  const light = new Map();
  for (const r of rules) if (r.head === ':root' && r.decls) r.decls.forEach((d) => light.set(d, true));
  for (const r of rules) if (r.head === ':root:where(.pf-v6-theme-dark)') r.decls = r.decls.filter((d) => !light.has(d));
}

// inline writes the value of a custom property where it is read, when the property is defined once, for a whole
// component or for the root, and so cannot differ from place to place. PatternFly defines thousands of those.
function inline(rules) {
  const defined = new Map();
  walk(rules, (r) => r.decls.forEach((d) => {
    if (!d.startsWith('--')) return;
    const colon = d.indexOf(':'), name = d.slice(0, colon).trim(), value = d.slice(colon + 1).trim();
    const wide = /^(:root|\.pf-v6-c-[a-z-]+|\.pf-v6-c-form-control)$/.test(r.head) && !r.inside;
    defined.set(name, defined.has(name) || !wide ? null : value);
  }));
  const registered = new Set();
  walk(rules, (r) => { if (r.head.startsWith('@property')) registered.add(r.head.split(' ')[1]); });
  const replace = (text) => {
    let out = '', from = 0;
    for (;;) {
      const at = text.indexOf('var(', from);
      if (at < 0) return out + text.slice(from);
      let depth = 1, to = at + 4;
      while (depth) { if (text[to] === '(') depth++; if (text[to] === ')') depth--; to++; }
      const inside = text.slice(at + 4, to - 1), comma = inside.indexOf(',');
      const name = (comma < 0 ? inside : inside.slice(0, comma)).trim(), fallback = comma < 0 ? '' : inside.slice(comma + 1).trim();
      const value = registered.has(name) ? null : defined.get(name);
      if (value && !OURS.test(name)) out += text.slice(from, at) + value;
      else if (!defined.has(name) && fallback) out += text.slice(from, at) + replace(fallback);
      else out += text.slice(from, at) + `var(${name}${fallback && `,${replace(fallback)}`})`;
      from = to;
    }
  };
  for (let round = 0; round < 12; round++) {
    for (const [name, value] of defined) if (value) defined.set(name, replace(value));
  }
  walk(rules, (r) => { r.decls = r.decls.map((d) => { const c = d.indexOf(':'); return d.slice(0, c + 1) + replace(d.slice(c + 1)); }); });
}

function print(rules) {
  return rules.map((r) => {
    if (r.rules) { const inner = print(r.rules); return inner && `${r.head}{${inner}}\n`; }
    if (!r.decls.length) return '';
    return `${r.head}{${r.decls.map((d) => d.replace(/^([\w-]+)\s*:\s*/, '$1:')).join(';')}}`;
  }).join('');
}

// auto repeats the dark rules for people who let their system decide.
function auto(rules) {
  const dark = [];
  for (const r of rules) {
    if (r.rules) { if (!/keyframes/.test(r.head)) { const inner = auto(r.rules); if (inner.length) dark.push({ head: r.head, rules: inner }); } continue; }
    const heads = selectors(r.head).filter((s) => s.includes('pf-v6-theme-dark'));
    if (heads.length) dark.push({ head: heads.join(',').replaceAll('pf-v6-theme-dark', 'pf-v6-theme-auto'), decls: r.decls });
  }
  return dark;
}

const here = new URL('.', import.meta.url);
if (process.argv[2] === '--sums') {
  const vendor = JSON.parse(readFileSync(new URL('../vendor.json', here)));
  for (const lib of vendor) for (const file of Object.keys(lib.files)) {
    const sum = createHash('sha256').update(readFileSync(new URL(`../${lib.folder}/${file}`, here))).digest('hex');
    console.log(lib.folder, file, sum);
  }
} else {
  const from = process.argv[2];
  const sources = ['patternfly-base.css', ...COMPONENTS.map((c) => `components/${c}.css`)];
  const rules = sources.flatMap((s) => keep(parse(readFileSync(`${from}/${s}`, 'utf8'))));
  bare(rules);
  shake(rules);
  inline(rules);
  shake(rules);
  const fonts = Object.entries(WANTED_FONT).map(([family, file]) =>
    `@font-face{font-family:${family};font-style:normal;font-weight:300 900;font-display:fallback;src:url("fonts/${file}.woff2") format("woff2-variations")}\n`).join('');
  process.stdout.write('/*! PatternFly 6.6.1, MIT licence, a subset: see subset.mjs */\n' + fonts + print(rules) +
    `@media (prefers-color-scheme:dark){${print(auto(rules))}}\n`);
}
