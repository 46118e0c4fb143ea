// A page that loads plugins as the OpenShift console does: with the console's own loader, its shared modules, its routes
// and its PatternFly frame (masthead, navigation in sections, page). The other sections of the console lead nowhere.
import { PluginStore, PluginStoreProvider, useResolvedExtensions } from '@openshift/dynamic-plugin-sdk';
import * as React from 'react';
import { createRoot } from 'react-dom/client';
import * as router from 'react-router';

const plugin = 'gpu-portal';
const h = React.createElement;
const words = await (await fetch(`/api/plugins/${plugin}/locales/${document.documentElement.lang}/plugin__${plugin}.json`)).json();
const translated = (text) => text.replace(/^%plugin__[^~]+~(.+)%$/, (_, key) => words[key] ?? key);

const provided = (version, exports) => ({ [version]: { get: () => Promise.resolve(() => exports), from: 'host', loaded: 1 } });
const store = new PluginStore({ loaderOptions: {
  sharedScope: {
    react: provided('18.3.1', React),
    'react-router': provided('7.9.6', router),
    'react-i18next': provided('16.0.0', { useTranslation: () => ({ t: (key) => words[key] ?? key }) }),
  },
  customDependencyResolutions: { '@console/pluginAPI': '4.22.0' },
} });

const ofType = (type) => (extension) => extension.type === type;
const isLink = ofType('console.navigation/href'), isSection = ofType('console.navigation/section'),
  isRoute = ofType('console.page/route'), isFlag = ofType('console.flag'),
  isInventory = ofType('console.project-overview/inventory-item'), isUtilization = ofType('console.project-overview/utilization-item');

function Masthead() {
  return h('header', { className: 'pf-v6-c-masthead' }, h('div', { className: 'pf-v6-c-masthead__main' },
    h('div', { className: 'pf-v6-c-masthead__brand host-brand' }, 'OpenShift')));
}

// a section of the navigation: closed, with nothing in it, unless a plugin fills it
function Section({ name, links = [] }) {
  const open = links.length > 0;
  return h('li', { className: `pf-v6-c-nav__item pf-m-expandable ${open ? 'pf-m-expanded' : ''}` },
    h('span', { className: 'pf-v6-c-nav__link' }, name,
      h('span', { className: 'pf-v6-c-nav__toggle', 'aria-hidden': true },
        h('span', { className: 'pf-v6-c-nav__toggle-icon' }, open ? '▾' : '▸'))),
    open && h('section', { className: 'pf-v6-c-nav__subnav' }, h('ul', { className: 'pf-v6-c-nav__list' },
      links.map((link) => h('li', { key: link.uid, className: 'pf-v6-c-nav__item' }, h(Entry, link.properties))))));
}

// an entry is marked as the console marks it: the reader's path begins with its own, or with one of startsWith
function Entry({ id, name, href, startsWith = [] }) {
  const path = router.useLocation().pathname.slice(1), segments = path.split('/');
  const current = href.slice(1).split('/').every((segment, i) => segment === segments[i]) ||
    startsWith.some((s) => path.startsWith(s));
  return h(router.Link, { to: href, 'data-test': id, 'aria-current': current ? 'page' : undefined,
    className: `pf-v6-c-nav__link ${current ? 'pf-m-current' : ''}` }, translated(name));
}

function Navigation() {
  const [links] = useResolvedExtensions(isLink), [sections] = useResolvedExtensions(isSection);
  const [flags] = useResolvedExtensions(isFlag);
  React.useEffect(() => {
    for (const flag of flags) flag.properties.handler((name, value) => store.setFeatureFlags({ [name]: value }));
  }, [flags.length]);
  const of = (section) => links.filter((link) => link.properties.section === section.properties.id);
  return h('div', { className: 'pf-v6-c-page__sidebar pf-m-expanded host-sidebar' },
    h('div', { className: 'pf-v6-c-page__sidebar-body' }, h('nav', { 'aria-label': 'Console', className: 'pf-v6-c-nav' }, h('ul', { className: 'pf-v6-c-nav__list' },
      ['Home', 'Workloads', 'Networking', 'Storage', 'Observe', 'Compute'].map((name) =>
        h(Section, { key: name, name })),
      sections.map((s) => h(Section, { key: s.uid, name: translated(s.properties.name), links: of(s) })),
      h(Section, { name: 'Administration' })))));
}

const main = (...children) => h('div', { className: 'pf-v6-c-page__main-container' },
  h('main', { className: 'pf-v6-c-page__main', tabIndex: -1 }, ...children));

function Project() {
  const { name } = router.useParams();
  const [items] = useResolvedExtensions(isInventory), [uses] = useResolvedExtensions(isUtilization);
  return main(h('h1', null, name), items.map((item) => h(item.properties.component, { key: item.uid, projectName: name })),
    uses.map((use) => h('p', { key: use.uid, 'data-test': 'query' }, use.properties.getUtilizationQuery(name))),
    uses.map((use) => h('p', { key: `${use.uid}-words`, 'data-test': 'humanized' }, use.properties.humanize(0.256).string)));
}

function Console() {
  const [routes] = useResolvedExtensions(isRoute);
  return h('div', { className: 'pf-v6-c-page' }, h(Masthead), h(Navigation), h(router.Routes, null,
    h(router.Route, { path: '/project/:name', element: h(Project) }),
    routes.map((route) => h(router.Route, { key: route.uid, path: route.properties.exact ? route.properties.path : `${route.properties.path}/*`,
      element: main(h(route.properties.component)) }))));
}

await store.loadPlugin(`/api/plugins/${plugin}/plugin-manifest.json`);
createRoot(document.getElementById('app')).render(h(PluginStoreProvider, { store }, h(router.BrowserRouter, null, h(Console))));
