// A page that loads plugins as the OpenShift console does: with the console's own loader, its shared modules and its
// routes. What is around them is as little as can be: the console's navigation, a project's overview, and flags.
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
const isLink = ofType('console.navigation/href'), isRoute = ofType('console.page/route'), isFlag = ofType('console.flag'),
  isInventory = ofType('console.project-overview/inventory-item'), isUtilization = ofType('console.project-overview/utilization-item');

function Navigation() {
  const [links] = useResolvedExtensions(isLink), [flags] = useResolvedExtensions(isFlag);
  React.useEffect(() => {
    for (const flag of flags) flag.properties.handler((name, value) => store.setFeatureFlags({ [name]: value }));
  }, [flags.length]);
  return h('nav', { 'aria-label': 'Console' }, h('ul', null, links.map((link) =>
    h('li', { key: link.uid, style: { padding: '0.5rem 1rem' }, className: 'pf-v6-c-nav__item' }, h(router.Link, { to: link.properties.href, 'data-test': link.properties.id }, translated(link.properties.name))))));
}

function Project() {
  const { name } = router.useParams();
  const [items] = useResolvedExtensions(isInventory), [uses] = useResolvedExtensions(isUtilization);
  return h('main', null, h('h1', null, name), items.map((item) => h(item.properties.component, { key: item.uid, projectName: name })),
    uses.map((use) => h('p', { key: use.uid, 'data-test': 'query' }, use.properties.getUtilizationQuery(name))),
    uses.map((use) => h('p', { key: `${use.uid}-words`, 'data-test': 'humanized' }, use.properties.humanize(0.256).string)));
}

function Console() {
  const [routes] = useResolvedExtensions(isRoute);
  return h(React.Fragment, null, h(Navigation), h(router.Routes, null,
    h(router.Route, { path: '/project/:name', element: h(Project) }),
    routes.map((route) => h(router.Route, { key: route.uid, path: route.properties.exact ? route.properties.path : `${route.properties.path}/*`,
      element: h('main', null, h(route.properties.component)) }))));
}

await store.loadPlugin(`/api/plugins/${plugin}/plugin-manifest.json`);
createRoot(document.getElementById('app')).render(h(PluginStoreProvider, { store }, h(router.BrowserRouter, null, h(Console))));
