// L1: every page over a network with a million conversions, as many credits and two million deliveries, on both databases:
// the time until a page's first byte is there, which for a page rendered in one piece is until all of it is. Of files all.

import { sql } from "kysely";
import { writeCursor } from "../src/domain/cursor.ts";
import { DAY_MS, utcDay } from "../src/domain/time.ts";
import { realClock } from "../src/outside/clock.ts";
import { COMMAND_LINE } from "../src/people/actor.ts";
import { issueKey } from "../src/programmes/keys.ts";
import { addPartnerPerson } from "../src/store/queries/partners.ts";
import type { Programme } from "../src/store/queries/programmes.ts";
import type { Store } from "../src/store/store.ts";
import { type Browser, createTestSite, type TestSite } from "../src/web/test-site.test-support.ts";
import { setUrl } from "../test/support/change-rows.ts";
import { type Database, withStore } from "./database.ts";
import { median } from "./figures.ts";
import { PARTNERS, seedCredits } from "./seed-credits.ts";
import { seedHistory } from "./seed-history.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SMALL_PROGRAMMES = 99;
const REACH_MS = 100;
/** The first warms caches and statements, as any page but the very first finds them. */
const LOOKS = 8;

type Say = (line: string) => void;

export const l1Lists = defineWorkload<{ conversions: number; databases: readonly Database[] }>({
	name: "L1",
	title: "lists",
	measures:
		"every page over a million conversions and credits, and two million deliveries: the time until the page is there",
	scales: {
		full: { conversions: 1_000_000, databases: ["SQLite", "PostgreSQL"] },
		short: { conversions: 20_000, databases: ["SQLite", "PostgreSQL"] },
		smoke: { conversions: 1_000, databases: ["SQLite"] },
	},
	async run({ conversions, databases }, { withDatabase, say }) {
		const figures: Figure[] = [];
		for (const kind of databases) {
			figures.push(...(await withDatabase(kind, (url) => measureOn(kind, url, conversions, say))));
		}
		return figures;
	},
});

function measureOn(kind: Database, url: string, conversions: number, say: Say): Promise<Figure[]> {
	return withStore(url, async (store) => {
		const site = createTestSite(store, { change: { clock: realClock } });
		const programme = await fill(store, site, conversions, (what) => say(`${kind}: writing ${what}`));
		// As its autovacuum does by itself within minutes; SQLite's plans are those of a file never analysed.
		if (kind === "PostgreSQL") await sql`vacuum analyze`.execute(store.db);
		const figures: Figure[] = [];
		for (const [role, browser, paths] of await visitors(site, programme, conversions)) {
			for (const path of paths) {
				const isFile = path.includes(".csv");
				const rounds = await timePage(browser, path, isFile ? 1 : LOOKS);
				const shown = path
					.replace(`/programmes/${programme.public_id}`, "…")
					.replace(/cursor=.*/, "cursor=…");
				say(`${kind}: ${role} ${shown} ${median(rounds).toFixed(1)} ms`);
				const what = `${kind}, ${role} ${shown}`;
				const goal = isFile ? null : { atMost: REACH_MS };
				figures.push({ what, value: median(rounds), unit: "ms", goal, rounds });
			}
		}
		return figures;
	});
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

async function visitors(
	site: TestSite,
	{ id, public_id }: Programme,
	conversions: number,
): Promise<(readonly [role: string, Browser, paths: readonly string[]])[]> {
	const main = `/programmes/${public_id}`;
	const partner = `ptn_${PARTNERS}`;
	const middle = String(conversions / 2).padStart(10, "0");
	const list = `${main}/conversions`;
	const position = { at: conversions / 2, id: conversions / 2 };
	const cursor = writeCursor(site.deps, `conversions of programme:${id}`, position);
	const ownerPaths = [
		list,
		`${list}?status=PARKED`,
		`${list}?status=APPROVED`,
		`${list}?eventType=LEAD`,
		`${list}?orderId=ORDER-${middle}`,
		`${list}?orderId=ORDER-0`,
		`${list}?orderId=${middle.slice(3)}`,
		`${list}?orderId=r-0`,
		`${list}?orderId=9`,
		`${list}?orderId=nowhere`,
		`${list}?orderId=1&status=PARKED`,
		`${list}?sort=sale-desc`,
		`${list}?sort=basket-desc`,
		`${list}?sort=basket-asc&status=PARKED`,
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
		"/conversions?status=RECORDED",
		"/conversions?status=REVERSED",
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

/** Today, 30 days, a year, all that there is. */
function spans(path: string): string[] {
	const days = [0, 29, 364, 600].map((back) => utcDay(Date.now() - back * DAY_MS));
	return days.map((from) => `${path}?from=${from}&to=${utcDay(Date.now())}`);
}

async function timePage(browser: Browser, path: string, looks: number): Promise<number[]> {
	const rounds: number[] = [];
	for (let look = 0; look <= looks; look++) {
		const startedAt = performance.now();
		const { status } = await browser.open(path);
		const tookMs = performance.now() - startedAt;
		if (status !== 200) throw new Error(`${path} answered ${status}`);
		if (look > 0) rounds.push(tookMs);
	}
	return rounds;
}
