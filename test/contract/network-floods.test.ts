// Tests floods of requests that need no sign-in: link codes, signed calls, user agents and the readiness check, on both
// databases. The flooding address block is slowed down and causes no further queries, and other blocks are not affected.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { READY_RATES } from "#core/api/bare-app.ts";
import { BLOCK_REFUSALS } from "#core/api/inbound-log.ts";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { parseRange } from "#core/domain/address.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Store } from "#core/store/store.ts";
import { createTestSite } from "#core/web/test-site.test-support.ts";
import { ALL_UNKNOWN_CODES_RATE, NEW_AGENT_RATES, UNKNOWN_CODE_RATES } from "#modules/partners/api/click.ts";
import { addSamplePartner, SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";
import { createApp } from "../../src/app.ts";
import { REFUSAL_DELAY_MS } from "../../src/concurrency/admission.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { expectValue } from "../support/shop-account.ts";
import { until } from "../support/until.ts";

const TRUSTED = [parseRange("127.0.0.1")].flatMap((range) => range ?? []);
const FLOODER = "203.0.113.9";
const VISITOR = "198.51.100.1";
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";

async function openFlooded(store: Store) {
	const clock = createClock(START_MS);
	const log = createLog();
	let linkReads = 0;
	const db = store.db.withPlugin({
		transformQuery: ({ node }) => {
			if (JSON.stringify(node).includes('"partner_links"')) linkReads++;
			return node;
		},
		transformResult: async ({ result }) => result,
	});
	const site = createTestSite({ ...store, db }, { change: { clock, log, trustedProxies: TRUSTED } });
	const { programme, credentials } = await makeShop(site.deps);
	const added = await site.store.db.selectFrom("partner_links").select("code").execute();
	if (added.length === 0) expectValue(await addSamplePartner(site.deps, COMMAND_LINE, programme.id));
	const app = createApp(site.deps);
	const request = (target: string, address: string, own: Record<string, string> = {}, method = "GET") => {
		const headers = { "user-agent": BROWSER, ...own, "x-forwarded-for": address };
		const incoming = { url: target, headers, socket: { remoteAddress: "127.0.0.1" } };
		return Promise.resolve(app.request(target, { method, headers }, { incoming }));
	};
	/**
	 * Moves the clock until a request that is answered with a delay gets its answer, and resolves to its
	 * status. Other requests are answered without a move of the clock.
	 */
	const late = async (send: () => Promise<Response>) => {
		const timers = clock.waitingTimers;
		let status: number | null = null;
		const answered = send().then((response) => {
			status = response.status;
		});
		await until(() => clock.waitingTimers > timers);
		// If several requests are sent, some may begin to wait only after the clock was moved.
		while (status === null) {
			await clock.moveBy(REFUSAL_DELAY_MS);
			await until(() => clock.waitingTimers > timers || status !== null);
		}
		await answered;
		return status;
	};
	return { clock, log, credentials, request, late, countLinkReads: () => linkReads };
}

mainlyOn("PostgreSQL", "floods without a sign-in", (database) => {
	test("a flood of unknown link codes is answered late without a query, and other clients still open links", async () => {
		const { request, late, countLinkReads } = await openFlooded(database.store);
		const [{ burst }] = UNKNOWN_CODE_RATES;
		for (let n = 0; n < burst; n++) equal((await request(`/c/x${n}`, FLOODER)).status, 404);
		const before = countLinkReads();
		equal(await late(() => request("/c/one-more", FLOODER)), 503);
		equal(countLinkReads(), before, "the code is not looked up");
		equal((await request("/c/x1", FLOODER)).status, 404, "a code that is known to be unknown costs nothing");
		equal((await request(`/c/${SAMPLE_LINK.code}`, VISITOR)).status, 302);
		equal((await request("/c/mistyped", VISITOR)).status, 404);
		equal((await request(`/c/${SAMPLE_LINK.code}`, FLOODER)).status, 302, "a cached link opens");
	});

	test("a flood of unknown link codes from ever new addresses is answered late, and links that were never clicked still open", async () => {
		const { request, late, clock } = await openFlooded(database.store);
		const { burst } = ALL_UNKNOWN_CODES_RATE;
		const guess = (n: number) => request(`/c/y${n}`, `203.${n >> 8}.${n & 255}.9`);
		const answers = await Promise.all(Array.from({ length: burst }, (_, n) => guess(n)));
		deepEqual(new Set(answers.map(({ status }) => status)), new Set([404]));
		equal(await late(() => guess(burst)), 404);
		equal(clock.waitingTimers, 0);
		equal((await request(`/c/${SAMPLE_LINK.code}`, VISITOR)).status, 302, "it was not cached");
	});

	test("a flood of new user agents is answered late, with a click ID, and other clients are not delayed", async () => {
		const { request, late } = await openFlooded(database.store);
		const [{ burst }] = NEW_AGENT_RATES;
		const click = (n: number, address: string) =>
			request(`/c/${SAMPLE_LINK.code}`, address, { "user-agent": `${BROWSER}.${n}` });
		for (let n = 0; n < burst; n++) equal((await click(n, FLOODER)).status, 302);
		let answer: Response | undefined;
		equal(await late(async () => (answer = await click(burst, FLOODER))), 302);
		ok(answer?.headers.get("location")?.includes("rbclick="));
		equal((await click(1, FLOODER)).status, 302, "a user agent that was judged before");
		equal((await click(burst + 1, VISITOR)).status, 302);
	});

	test("a flood of bad signatures or unknown keys is answered late, and is logged once a minute", async () => {
		const { request, late, credentials, clock, log } = await openFlooded(database.store);
		const wrong = (key: string, address: string) => {
			const headers = {
				authorization: `Bearer ${key}`,
				"x-service-timestamp": String(clock.nowMs() / 1000),
				"x-service-nonce": "12345678",
				"x-service-signature": "0".repeat(64),
			};
			return request("/v1/conversions", address, headers, "POST");
		};
		for (let n = 0; n < BLOCK_REFUSALS.burst; n++) {
			equal((await wrong(n % 2 === 0 ? credentials.key : `rbk_${n}`, FLOODER)).status, 401);
		}
		equal(await late(() => wrong(credentials.key, FLOODER)), 401);
		const lines = () => log.lines.filter(({ message }) => message.includes("not in the inbound log"));
		for (const key of [credentials.key, "rbk_none", credentials.key]) {
			await late(() => Promise.all([wrong(key, FLOODER), wrong(key, FLOODER)]).then(([first]) => first));
		}
		equal(lines().length, 1);
		equal((await wrong(credentials.key, VISITOR)).status, 401, "another caller is answered at once");
		await clock.moveBy(MINUTE_MS);
		const many = Array.from({ length: BLOCK_REFUSALS.burst + 1 });
		await late(async () => {
			await Promise.all(many.map(() => wrong("rbk_none", FLOODER)));
			return new Response();
		});
		equal(lines().length, 2);
	});

	test("a flood of readiness checks is answered late, and all checks together make one query a second", async () => {
		const { request, late } = await openFlooded(database.store);
		const [{ burst }] = READY_RATES;
		const statuses = await Promise.all(Array.from({ length: burst }, () => request("/readyz", FLOODER)));
		deepEqual(new Set(statuses.map(({ status }) => status)), new Set([200]));
		equal(await late(() => request("/readyz", FLOODER)), 200);
		equal((await request("/readyz", VISITOR)).status, 200);
		equal((await request("/readyz", "10.0.0.1")).status, 200);
	});
});
