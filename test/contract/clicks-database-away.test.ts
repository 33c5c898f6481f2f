// Tests partner links while the database is away. Cached links work for ten minutes, other links show a page
// that says so, and clicks are stored later. A flood of unknown codes must not cause a flood of statements.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import type { Store } from "#core/store/store.ts";
import { EVER } from "#modules/partners/store/clicks.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { createClickCounts } from "#modules/partners/use-cases/click-counts.ts";
import { createPartnerLinkCache } from "#modules/partners/use-cases/partner-link-cache.ts";
import { createApp } from "../../src/app.ts";
import { createRandom } from "../../src/outside/random.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { setLandingHosts } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { createLog } from "../support/log.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createMigratedDatabase, openStore } from "../support/test-database.ts";

const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0" };
const FLOOD = 5_000;
/** Maximum number of codes in one read. It must equal the limit in modules/partners/use-cases/partner-link-cache.ts. */
const CODES_A_READ = 1_000;

describe("partner links while PostgreSQL is away", () => {
	const clock = createClock(START_MS);
	const log = createLog();
	let database: TestDatabase;
	let store: Store;
	let admin: Store;
	let app: ReturnType<typeof createApp>;
	let counts: ReturnType<typeof createClickCounts>;

	before(async () => {
		database = await createMigratedDatabase("PostgreSQL");
		store = database.open();
		const other = new URL(database.location);
		other.pathname = "/postgres";
		admin = openStore("PostgreSQL", other.href);
		counts = createClickCounts({ store, clock, log });
		const deps = { ...makeAppDeps({ store, clock, log, random: createRandom() }), clickCounts: counts };
		app = createApp(deps);
		const { programme } = await makeShop(deps);
		const at = { created_at_ms: START_MS };
		await setLandingHosts(store.db, programme.id, [{ host: "shop.example", withSubdomains: false }]);
		const { id: partner_id } = await insertPartner(store.db, {
			...at,
			public_id: "ptn_1",
			name: "B",
			site: "",
		});
		const agreed = { commission_rate: null, terms: "", public_id: "pts_1", programme_id: programme.id };
		const partnership = await insertPartnership(store.db, { ...at, ...agreed, partner_id });
		const own = { ...at, partnership_id: partnership?.id ?? 0, name: "", target: "https://shop.example/" };
		for (const code of ["known", "other"]) await insertPartnerLink(store.db, { ...own, code });
	});
	after(async () => {
		await setAway(false);
		await admin.close();
		await database.remove();
	});

	/** Makes the database unavailable by ending and refusing all connections, or makes it available again. */
	async function setAway(isAway: boolean): Promise<void> {
		const name = new URL(database.location).pathname.slice(1);
		await sql`alter database ${sql.id(name)} allow_connections ${sql.lit(!isAway)}`.execute(admin.db);
		if (isAway) {
			await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`.execute(
				admin.db,
			);
		}
	}

	const click = (code: string) => app.request(`/c/${code}`, { headers: BROWSER });

	test("while the database is away cached links work for ten minutes, other links show a page, and clicks are stored afterwards", async () => {
		equal((await click("known")).status, 302);
		await counts.flush();
		await setAway(true);
		let clicks = 1;
		for (const waitMs of [SECOND_MS, 11 * SECOND_MS, 5 * MINUTE_MS, 4 * MINUTE_MS]) {
			await clock.moveBy(waitMs);
			const answer = await click("known");
			clicks++;
			equal(answer.status, 302, `after ${waitMs} ms more`);
			match(answer.headers.get("location") ?? "", /^https:\/\/shop\.example\/\?rbclick=/);
			await counts.flush();
		}
		const unknown = await click("other");
		equal(unknown.status, 503);
		equal(unknown.headers.get("retry-after"), "5");
		equal(unknown.headers.get("content-type"), "text/html; charset=utf-8");
		match(await unknown.text(), /This link cannot be opened right now/);
		await clock.moveBy(MINUTE_MS);
		equal((await click("known")).status, 503, "after ten minutes");

		await setAway(false);
		await clock.moveBy(2 * SECOND_MS);
		for (const code of ["known", "other"]) equal((await click(code)).status, 302, code);
		await counts.flush();
		const { total } = await store.db
			.selectFrom("click_quarters")
			.select((eb) => eb.fn.sum<number>("clicks").as("total"))
			.where("quarter", ">", EVER)
			.executeTakeFirstOrThrow();
		equal(Number(total), clicks + 2);
	});

	test("a flood of unknown link codes causes a few statements, one at a time, and evicts no cached link", async () => {
		let statements = 0;
		let [under, most] = [0, 0];
		const db = store.db.withPlugin({
			transformQuery({ node }) {
				statements++;
				most = Math.max(most, ++under);
				return node;
			},
			async transformResult({ result }) {
				under--;
				return result;
			},
		});
		const links = createPartnerLinkCache({ store: { db }, clock, log });
		equal((await links.find("known"))?.code, "known");
		for (let from = 0; from < 5 * FLOOD; from += CODES_A_READ) {
			const all = Array.from({ length: CODES_A_READ }, (_, at) => links.find(`nobody-${from + at}`));
			deepEqual(new Set(await Promise.all(all)), new Set([null]));
		}
		ok(statements <= 4 + (10 * FLOOD) / CODES_A_READ, `${statements} statements`);
		equal(most, 1);
		const before = statements;
		equal(links.find("nobody-24999"), null, "the code is known not to exist");
		ok(links.find("known"), "the link is still cached");
		equal(statements, before);
		// The codes arrive at once. Those beyond the limit of one read are refused, not queued.
		const flood = await Promise.allSettled(
			Array.from({ length: FLOOD }, (_, at) => links.find(`nothing-${at}`)),
		);
		equal(flood.filter(({ status }) => status === "fulfilled").length, CODES_A_READ);
		ok(statements <= before + 2);
	});

	test("many simultaneous requests for one link all succeed while another link is being read", async () => {
		const links = createPartnerLinkCache({ store, clock, log });
		const asked = [links.find("known")];
		for (let turn = 0; turn < 20; turn++) {
			await clock.yieldLoop();
			asked.push(links.find("other"), links.find("known"), links.find("other"));
		}
		deepEqual(new Set((await Promise.all(asked)).map((link) => link?.code)), new Set(["known", "other"]));
	});
});
