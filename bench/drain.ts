// W1's service side: the real engine and the real transport drain what is due in a seeded database.
// Arguments: database URL, CA file, deliveries. Prints {"perSecond":…} once every result is stored.

import { readFileSync } from "node:fs";
import { Engine } from "../src/callbacks/engine.ts";
import { createPass } from "../src/callbacks/pass.ts";
import { parseRange } from "../src/domain/address.ts";
import { realClock } from "../src/outside/clock.ts";
import { createHttpsTransport } from "../src/outside/https-transport.ts";
import { createBusyShare } from "../src/outside/load.ts";
import { createLog } from "../src/outside/log.ts";
import { createRandom } from "../src/outside/random.ts";
import { openStore } from "../src/store/open.ts";
import { cpuPer } from "./cpu.ts";
import { databaseSetting } from "./database.ts";
import { BENCH_SEALING_KEY } from "./seed.ts";

const [databaseUrl = "", caFile = "", deliveries = ""] = process.argv.slice(2);
const total = Number(deliveries);
const log = createLog("warn");
const random = createRandom();
const database = databaseSetting(databaseUrl);
const store = openStore(database, { clock: realClock, log, name: "ringback-bench" });
const loopback = parseRange("127.0.0.0/8");
const transport = createHttpsTransport({
	allowedPrivateRanges: loopback === undefined ? [] : [loopback],
	trustedCa: readFileSync(caFile, "utf8"),
});
const startedAt = performance.now();
const engine = new Engine({
	store,
	clock: realClock,
	random,
	transport,
	runPass: createPass(store, random),
	sealingKey: BENCH_SEALING_KEY,
	log,
	brand: "Service",
	// The service's defaults: see config.ts.
	caps: { perProgramme: 8, overall: 512 },
	busyShare: createBusyShare(),
	onNotice: () => undefined,
});
const watch = setInterval(() => {
	const { delivered, failed } = engine.counters.finished;
	if (delivered + failed >= total) void finish();
}, 5);

async function finish(): Promise<void> {
	clearInterval(watch);
	const seconds = (performance.now() - startedAt) / 1000;
	const { finished, attemptsByVerdict } = engine.counters;
	const rssMb = Math.round(process.memoryUsage().rss / 1e6);
	await engine.stop();
	await transport.close();
	await store.close();
	const attempts = Object.fromEntries(attemptsByVerdict);
	process.stdout.write(
		`${JSON.stringify({ perSecond: total / seconds, ...cpuPer(total), ...finished, attempts, rssMb })}\n`,
	);
}
