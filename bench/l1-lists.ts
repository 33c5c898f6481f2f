// L1 measures how long every page takes in a network with a million conversions, on SQLite and on two
// versions of PostgreSQL. The lists of conversions are measured for every status, event type and sort order,
// even if they are empty. On PostgreSQL they are measured again without statistics.

import { sql } from "kysely";
import { EVENT_TYPES, STATUSES } from "#core/domain/conversion.ts";
import { writeCursor } from "#core/domain/cursor.ts";
import { DAY_MS, utcDay } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { type Browser, createTestSite, type TestSite } from "#core/web/test-site.test-support.ts";
import { realClock } from "../src/outside/clock.ts";
import { setUrl } from "../test/support/change-rows.ts";
import { DEBIAN_POSTGRES_MISSING, findDebianPostgres } from "../test/support/debian-postgres.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { openDatabase, withStore } from "./database.ts";
import { median } from "./figures.ts";
import { PARTNERS, seedCredits } from "./seed-credits.ts";
import { seedHistory } from "./seed-history.ts";
import { timePage } from "./time-page.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SMALL_PROGRAMMES = 99;
const REACH_MS = 100;
/** Number of measured requests for each page. An additional first request warms the caches. */
const LOOKS = 8;

/**
 * Databases to measure. "older PostgreSQL" is Debian's version, if it is installed. The other version comes
 * from npm and is used by the tests.
 */
type Side = "SQLite" | "PostgreSQL" | "older PostgreSQL";

type Say = (line: string) => void;

export const l1Lists = defineWorkload<{ conversions: number; sides: readonly Side[] }>({
	name: "L1",
	title: "lists",
	measures:
		"every page over a million conversions and credits, and two million deliveries: the time until the page is there",
	runsOwnSources: true,
	scales: {
		full: { conversions: 1_000_000, sides: ["SQLite", "PostgreSQL", "older PostgreSQL"] },
		short: { conversions: 20_000, sides: ["SQLite", "PostgreSQL", "older PostgreSQL"] },
		smoke: { conversions: 1_000, sides: ["SQLite"] },
	},
	async run({ conversions, sides }, { withDatabase, say }) {
		const figures: Figure[] = [];
		for (const side of sides) {
			figures.push(
				...(side === "older PostgreSQL"
					? await withOlderPostgres(say, (name, url) => measureOn(name, url, conversions, say))
					: await withDatabase(side, (url) => measureOn(side, url, conversions, say))),
			);
		}
		return figures;
	},
});

async function withOlderPostgres(
	say: Say,
	work: (name: string, url: string) => Promise<Figure[]>,
): Promise<Figure[]> {
	const debian = findDebianPostgres();
	if (debian === undefined) {
		say(`The older PostgreSQL is missing. ${DEBIAN_POSTGRES_MISSING}`);
		return [];
	}
	const server = await startPostgres({ binaries: debian.binaries });
	try {
		const database = await openDatabase({ server, name: "bench_older" });
		return await work(`PostgreSQL ${debian.version}`, database.url);
	} finally {
		await server.stop();
	}
}

function measureOn(name: string, url: string, conversions: number, say: Say): Promise<Figure[]> {
	return withStore(url, async (store) => {
		const site = createTestSite(store, { change: { clock: realClock } });
		const programme = await fill(store, site, conversions, (what) => say(`${name}: writing ${what}`));
		// In service, autovacuum does this within minutes. A SQLite file is never analysed.
		if (store.kind === "postgres") await sql`vacuum analyze`.execute(store.db);
		const figures: Figure[] = [];
		const measure = async (visitor: Visitor, suffix = "") => {
			const [role, browser, paths] = visitor;
			for (const path of paths) {
				const isFile = path.includes(".csv");
				const rounds = await timePage(browser, path, isFile ? 1 : LOOKS);
				const shown = path
					.replace(`/programmes/${programme.public_id}`, "…")
					.replace(/cursor=.*/, "cursor=…");
				const what = `${name}, ${role} ${shown}${suffix}`;
				say(`${what} ${median(rounds).toFixed(1)} ms`);
				const goal = isFile ? null : { atMost: REACH_MS };
				figures.push({ what, value: median(rounds), unit: "ms", goal, rounds });
			}
		};
		const all = await visitors(site, programme, conversions);
		for (const visitor of all) await measure(visitor);
		if (store.kind === "sqlite") return figures;
		await removeStatistics(store);
		for (const [role, browser, paths] of all) {
			const lists = paths.filter((path) => path.includes("/conversions") && !path.includes(".csv"));
			await measure([role, browser, lists], " without statistics");
		}
		return figures;
	});
}

/** Removes the planner's statistics of the tables that the lists read, as after a restore. */
async function removeStatistics({ db }: Store): Promise<void> {
	for (const table of ["conversions", "credits"]) {
		await sql`alter table ${sql.table(table)} set (autovacuum_enabled = false)`.execute(db);
		await sql`delete from pg_statistic where starelid = ${table}::regclass`.execute(db);
		await sql`update pg_class set relpages = 0, reltuples = -1 where oid = ${table}::regclass`.execute(db);
	}
}

async function fill(store: Store, site: TestSite, conversions: number, say: Say): Promise<Programme> {
	const large = await site.addProgramme("Nordlicht Outdoor");
	const small = [];
	for (let i = 0; i < SMALL_PROGRAMMES; i++) small.push(await site.addProgramme(`Shop ${i}`));
	await issueKey(site.deps, large.public_id, COMMAND_LINE);
	await setUrl(store.db, large.id, "https://shop.example/postback", Date.now());
	await site.addStaff("mira@network.example");
	await site.addOwner(large, "jonas@nordlicht.example");
	const history = { conversions, large, small, endsAtMs: Date.now() };
	await seedHistory(store.db, history, say);
	await seedCredits(store.db, history);
	const partner = await site.addOwner(large, "pia@blog.example");
	await addPartnerPerson(store.db, PARTNERS, partner.id);
	return large;
}

type Visitor = readonly [role: string, Browser, paths: readonly string[]];

async function visitors(
	site: TestSite,
	{ id, public_id }: Programme,
	conversions: number,
): Promise<Visitor[]> {
	const main = `/programmes/${public_id}`;
	const partner = `ptn_${PARTNERS}`;
	const middle = String(conversions / 2).padStart(10, "0");
	const list = `${main}/conversions`;
	const position = { at: conversions / 2, id: conversions / 2 };
	const cursor = writeCursor(site.deps, `conversions of programme:${id} recorded-desc`, position);
	const ownerPaths = [
		list,
		...kindsOf(list),
		`${list}?sort=recorded-asc`,
		`${list}?orderId=ORDER-${middle}`,
		`${list}?orderId=ORDER-0`,
		`${list}?orderId=${middle.slice(3)}`,
		`${list}?orderId=r-0`,
		`${list}?orderId=9`,
		`${list}?orderId=nowhere`,
		`${list}?orderId=1&status=PARKED`,
		`${list}?sort=sale-desc`,
		`${list}?sort=sale-asc`,
		`${list}?sort=basket-desc`,
		`${list}?sort=basket-asc`,
		`${list}?sort=basket-asc&status=PARKED`,
		`${list}?sort=basket-asc&status=EXPIRED`,
		`${list}?sort=sale-desc&eventType=SIGNUP`,
		`${list}?dates=sale&from=2020-01-01&to=2020-12-31`,
		`${list}?dates=decision&from=2020-01-01&to=2020-12-31`,
		`${list}?from=2026-01-01&to=2099-01-01`,
		`${list}?cursor=${cursor}`,
		`${list}/cnv_${middle}`,
		`${main}/integration`,
		`${main}/integration?state=failed`,
		`${main}/integration?order=ORDER-${middle}`,
		`${main}/integration/inbound`,
		`${main}/integration/inbound?result=refused`,
		`${main}/integration/inbound?order=ORDER-${middle}`,
		`${main}/deliveries/dlv_${String(conversions).padStart(10, "0")}`,
		`${main}/overview`,
		`${main}/people`,
		`${list}?partner=${partner}`,
		`${list}?partner=${partner}&status=REVERSED&sort=sale-asc`,
		`${list}?partner=ptn_1`,
		`${main}/partners/pts_${PARTNERS}`,
		...spans(`${main}/partners`),
	];
	const staffPaths = [
		"/programmes",
		"/programmes?search=Shop",
		"/conversions",
		...kindsOf("/conversions"),
		`/conversions?orderId=${middle.slice(3)}`,
		"/conversions?orderId=nowhere",
		"/conversions?status=RECORDED&orderId=7",
		"/totals",
		"/totals?days=365",
		`/conversions?partner=${partner}`,
		...spans("/partners"),
		...spans("/partners/totals.csv"),
	];
	const partnerPaths = [
		...spans(`/partner/${partner}/earnings`),
		`/partner/${partner}/links`,
		`/partner/${partner}/conversions`,
		`/partner/${partner}/conversions?status=REVERSED`,
		`/partner/${partner}/conversions/export.csv`,
	];
	return [
		["owner", await site.signIn({ email: "jonas@nordlicht.example" }), ownerPaths],
		["staff", await site.signIn({ email: "mira@network.example" }), staffPaths],
		["partner", await site.signIn({ email: "pia@blog.example" }), partnerPaths],
	];
}

/**
 * Returns the addresses of a list with each status, event type and test filter. The history has no EXPIRED
 * conversion and only two event types, so some lists are empty.
 */
function kindsOf(list: string): string[] {
	return [
		...STATUSES.map((status) => `${list}?status=${status}`),
		...EVENT_TYPES.map((eventType) => `${list}?eventType=${eventType}`),
		`${list}?status=REVERSED&eventType=SIGNUP`,
		`${list}?test=yes`,
		`${list}?test=yes&status=PARKED`,
		`${list}?test=all`,
	];
}

/** Returns the addresses of a page for today, 30 days, a year and all time. */
function spans(path: string): string[] {
	const days = [0, 29, 364, 600].map((back) => utcDay(Date.now() - back * DAY_MS));
	return days.map((from) => `${path}?from=${from}&to=${utcDay(Date.now())}`);
}
