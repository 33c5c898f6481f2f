// A client sends tens of thousands of requests on one or more connections and waits for no answer. It must
// not slow down another shop or use much memory.

import { equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { forkProcess } from "../support/forked-process.ts";
import { assertNoErrors, prepareService } from "../support/open-service.ts";
import { isLong } from "../support/proof.ts";
import { openAccount } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { watchResident } from "./memory.ts";
import type { FloodOrder } from "./pipelined-flood-process.ts";

/**
 * Number of requests on a connection each time it is opened, of 77 bytes each. Without a limit in the
 * service, they took a gigabyte and half a minute.
 */
const REQUESTS = 20_000;
const FLOODS = [
	{ connections: 1, rounds: isLong ? 8 : 2 },
	{ connections: 4, rounds: isLong ? 4 : 1 },
];
/** Maximum median time of the shop's calls, which take a few milliseconds on an idle machine. */
const MEDIAN_MS = 500;
/**
 * Maximum time of a sale. It is less than a shop's own timeout, and a sale that waited for the whole flood
 * would take longer.
 */
const SLOWEST_MS = 15_000;
const MEMORY_BYTES = 128 * 1024 * 1024;

// The tests run one after the other, because each flood would slow down the shop of the other test.
describe("an endless flood of requests whose answers nobody reads", { concurrency: 1 }, () => {
	for (const database of isLong ? DATABASE_KINDS : (["SQLite"] as const)) {
		test(`does not delay another shop (${database})`, async (t) => {
			const opened = await prepareService({ database });
			t.after(() => opened.close());
			const workplace = await opened.openWorkplace();
			const { apiKey, secret, programmeId } = await openAccount(workplace).finally(() => workplace.close());
			const { url } = await opened.start();
			const script = new URL("pipelined-flood-process.ts", import.meta.url);
			const flood = await forkProcess<null, FloodOrder, number>(script);
			t.after(() => flood.close());
			const shop = createShopClient(url, apiKey, secret, Date.now);
			const tookMs: number[] = [];
			const sell = async (): Promise<void> => {
				const startedMs = performance.now();
				await shop.post("/v1/conversions", { orderId: `order-${tookMs.length}`, basketValue: "1.00" });
				tookMs.push(performance.now() - startedMs);
			};
			await sell();
			const memory = watchResident();
			t.after(() => memory.stop());
			const paths = [
				["/v1/conversions"],
				[
					"/v1/conversions",
					`/pixel/${programmeId}.gif?orderId=1&basketValue=1.00`,
					"/sign-in",
					"/openapi.json",
				],
			];
			for (const { connections, rounds } of FLOODS) {
				for (const asked of paths) {
					let isOver = false;
					const order = { port: Number(new URL(url).port), connections, requests: REQUESTS, rounds };
					const flooded = flood.ask({ ...order, paths: asked }).finally(() => {
						isOver = true;
					});
					while (!isOver) await sell();
					equal(await flooded, connections * rounds, "each was hung up on");
				}
			}
			const sorted = tookMs.toSorted((a, b) => a - b);
			const [median = 0, slowest = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
			ok(median <= MEDIAN_MS, `half of ${tookMs.length} sales took more than ${median} ms`);
			ok(slowest <= SLOWEST_MS, `a sale took ${slowest} ms`);
			const grownBytes = memory.stop();
			ok(grownBytes <= MEMORY_BYTES, `${grownBytes} bytes more`);
			t.diagnostic(
				`${tookMs.length} sales, median ${median} ms, slowest ${slowest} ms, ${grownBytes} bytes more`,
			);
			assertNoErrors(opened.log);
		});
	}
});
