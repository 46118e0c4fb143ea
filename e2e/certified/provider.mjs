// The certified OpenID Connect provider of npm with one client, and as few settings beyond its defaults as a test can do
// with: profile, e-mail and groups are told at the userinfo endpoint only, a refresh token needs prompt=consent, and
// people are whoever they say they are. What it is told on the command line is one JSON object; people are read from a
// file anew each time, so that a test can remove one.
//
//	node provider.mjs '{"port":9400,"portal":"http://localhost:8080","secret":"…","people":"people.json","backChannel":"http://…"}'
import { readFileSync } from 'node:fs';
import Provider from 'oidc-provider';

const { port, portal, secret, people, backChannel } = JSON.parse(process.argv[2]);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'gpu-portal',
    client_secret: secret,
    redirect_uris: [`${portal}/signin/callback`],
    post_logout_redirect_uris: [`${portal}/signin`],
    grant_types: ['authorization_code', 'refresh_token'],
    backchannel_logout_uri: backChannel,
    backchannel_logout_session_required: true,
  }],
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
  features: { backchannelLogout: { enabled: true } },
  cookies: { keys: [secret] },
  // the default refuses loopback addresses, and gives up after 2.5 s
  fetch: (url, { dispatcher, ...options }) => fetch(url, { ...options, signal: AbortSignal.timeout(60_000) }),
  findAccount(_ctx, id) {
    const person = JSON.parse(readFileSync(people, 'utf8'))[id];
    return person && { accountId: id, claims: () => ({ sub: id, ...person }) };
  },
});

provider.on('backchannel.error', (_ctx, err) => console.error(err.message));
provider.listen(port, '127.0.0.1', () => console.log('ready'));
