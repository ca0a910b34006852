// The web server of a customer: pages that carry what a test asks for, and a path /w/ of the site's own that leads to weir, as a proxy in
// front of both would have it. What goes through there can be hindered.
import { readFile } from 'node:fs/promises';
import { createServer, request as ask } from 'node:http';

const modules = new URL('../../node_modules/', import.meta.url);

export async function customerSite(weirURL) {
  const site = { head: '', body: '', headers: {}, status: 200, asked: [], hinder: null, stop: () => server.close() };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://customer');
    site.asked.push({ path: pathname, headers: request.headers, method: request.method });
    if (pathname.startsWith('/w/')) return proxy(request, response);
    if (pathname.startsWith('/npm/')) {
      response.setHeader('Content-Type', 'text/javascript');
      return response.end(await readFile(new URL(pathname.slice(5).replace(/(\.js)?$/, '.js'), modules)));
    }
    if (/\.(pdf|zip|xyz)$/.test(pathname)) return response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Disposition': 'attachment' }).end('file');
    response.writeHead(pathname.startsWith('/missing') ? 404 : site.status, { 'Content-Type': 'text/html; charset=utf-8', ...site.headers });
    response.end(`<!doctype html><html><head><title>Customer</title>${site.head}</head><body><h1>${pathname}</h1>${site.body}</body></html>`);
  });

  // hinder(request) says what becomes of a hit: 'refuse' answers 503, 'cut' hangs up at once, 'swallow' lets weir have it and hangs up.
  function proxy(request, response) {
    const what = request.method === 'POST' ? site.hinder?.() : undefined;
    if (what === 'refuse') return response.writeHead(503, { 'Retry-After': '1' }).end();
    if (what === 'cut') return request.socket.destroy();
    const headers = { ...request.headers, 'x-forwarded-for': request.socket.remoteAddress };
    const onward = ask(weirURL + request.url.slice(2), { method: request.method, headers }, (answer) => {
      if (what === 'swallow') return answer.resume().on('end', () => request.socket.destroy());
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.url = `http://127.0.0.1:${server.address().port}`;
  return site;
}
