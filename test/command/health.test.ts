// Tests `ringback health` as a container engine runs it: against a service that is ready, one that stops, one
// that is suspended, and without a service.

import { deepEqual, equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { askReadiness } from "../../src/service/readiness.ts";
import { hasStack, openHome } from "../support/command-home.ts";
import { startHttpServer } from "../support/http-server.ts";
import { openService } from "../support/open-service.ts";

test("ringback health exits with 0 while the service is ready, and with 1 while it drains and after it has ended", async (t) => {
	const running = await openService();
	t.after(() => running.close());
	const { port } = new URL(running.service.url);
	const ask = (settings = {}) => openHome(t).runHere(["health"], { PORT: port, ...settings });
	const ready = await ask();
	equal(ready.code, 0, ready.stderr);
	equal(ready.stdout, `Ready: http://127.0.0.1:${port}/readyz\n`);
	equal((await ask({ HOST: "0.0.0.0" })).code, 0, "who listens everywhere is asked here");
	const stopped = running.service.stop({ drainMs: 2_000 });
	const draining = await ask();
	equal(draining.code, 1);
	const alive = await openHome(t).runHere(["health", "--alive"], { PORT: port });
	deepEqual([alive.code, alive.stdout], [0, `Alive: http://127.0.0.1:${port}/healthz\n`]);
	match(draining.stderr, /^Not ready: http:\/\/127\.0\.0\.1:\d+\/readyz: it answers 503\. The service's log/);
	await stopped;
	const gone = await ask();
	equal(gone.code, 1);
	match(gone.stderr, /readyz: nothing answers\./);
	equal(hasStack(gone), false);
	const goneInJson = await openHome(t).runHere(["health", "--json"], { PORT: port });
	equal(goneInJson.code, 1);
	deepEqual(JSON.parse(goneInJson.stdout), {
		isReady: false,
		url: `http://127.0.0.1:${port}/readyz`,
		why: "nothing answers",
	});
});

test("for ringback health, a server that listens and does not answer in time is not ready", async (t) => {
	const port = await startSilent(t);
	deepEqual(await askReadiness({ host: "127.0.0.1", port }, 50), {
		isReady: false,
		url: `http://127.0.0.1:${port}/readyz`,
		why: "no answer in time",
	});
});

test("ringback health exits with 2 if the settings name no address", async (t) => {
	const { code, stderr } = await openHome(t).runHere(["health"], { PORT: "0" });
	equal(code, 2);
	match(stderr, /^PORT is 0/);
});

async function startSilent(t: TestContext): Promise<number> {
	return Number(new URL(await startHttpServer(t, () => undefined)).port);
}
