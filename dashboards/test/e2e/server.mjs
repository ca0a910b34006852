// The weir under test: the binary named by WEIR_BIN with a fresh data directory, or else the mock. Both start before set-up.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMock } from '../../dev/mock.mjs';

const startWithinMs = 60_000;

// A port that stays free while weir is away: below those that the system gives to outgoing connections and to whoever asks for any.
async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const free = await new Promise((resolve) => {
      const server = createServer()
        .once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

export const startServer = () => (process.env.WEIR_BIN ? startBinary(process.env.WEIR_BIN) : startMock());

async function startMock() {
  const { server, state } = createMock({ fresh: true });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    what: 'the mock',
    url,
    setupLink: `${url}/setup#mock-token`,
    goAway: async () => {
      state.away = true;
      for (const stream of state.streams) stream.destroy();
    },
    comeBack: async () => void (state.away = false),
    stop: async () => void server.closeAllConnections() || server.close(),
  };
}

async function startBinary(binary) {
  const data = await mkdtemp(join(tmpdir(), 'weir-e2e-'));
  const [http, kafka] = [await freePort(), await freePort()];
  let child;
  let said = '';
  const start = async () => {
    child = spawn(binary, ['serve', '--data', data, '--http', `127.0.0.1:${http}`, '--kafka', `127.0.0.1:${kafka}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    const listen = (chunk) => (said += chunk);
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    const until = Date.now() + startWithinMs;
    for (;;) {
      const ready = await fetch(`http://127.0.0.1:${http}/readyz`).then((answer) => answer.ok).catch(() => false);
      if (ready) return;
      if (child.exitCode !== null || Date.now() > until) throw new Error(`weir did not start:\n${said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const end = async (signal) => {
    if (child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  };
  await start();
  const link = /https?:\/\/\S+\/setup#[\w-]+/.exec(said);
  if (!link) throw new Error(`weir printed no set-up link:\n${said}`);
  return {
    what: binary,
    url: `http://127.0.0.1:${http}`,
    setupLink: `http://127.0.0.1:${http}/setup${link[0].slice(link[0].indexOf('#'))}`,
    goAway: () => end('SIGKILL'),
    comeBack: start,
    stop: async () => {
      await end('SIGTERM');
      await rm(data, { recursive: true, force: true });
    },
    log: () => said,
    /** Gives back a list that fills with the hits in the log, with the fields that ingest/hit has, as they come; stop ends it. */
    followHits: () => {
      const hits = [];
      const reader = spawn(binary, ['consume', 'events', '--follow', '--brokers', `127.0.0.1:${kafka}`], { stdio: ['ignore', 'pipe', 'inherit'] });
      let rest = '';
      reader.stdout.on('data', (chunk) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop();
        for (const line of lines) hits.push(JSON.parse(line).value);
      });
      return { hits, stop: () => reader.kill() };
    },
  };
}
