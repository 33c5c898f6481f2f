// C1 measures two things. First, clicks on partner links, which are counted and stored, compared with the
// same server that answers with a constant redirect. Second, signed sales with a click ID and a coupon code,
// compared with the sales of W6.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { sql } from "kysely";
import { NODE_OPTIONS } from "../release/executable.ts";
import { endChild, runChild } from "./child-process.ts";
import { type Database, withStore } from "./database.ts";
import { best, least, rate, ratio } from "./figures.ts";
import { CONNECTIONS, type LoadAnswer, reportSales, writeShops } from "./load-process.ts";
import { cpuMicros } from "./process-cost.ts";
import { seedPartners } from "./seed-partners.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
const DATABASES = ["SQLite", "PostgreSQL"] as const;
const REACH = { rate: 0.6, p99: 2, statements: 0.01, sales: 0.9 } as const;

interface ClickScale {
	/**
	 * Number of clicks in one burst. Bursts of the two sides alternate, so that a busy moment of the machine
	 * affects both.
	 */
	clicks: number;
	paced: number;
	perSecond: number;
	sales: number;
	bursts: number;
	rounds: number;
}

/** Figures of all bursts of clicks, in the order of the bursts. */
interface Clicked {
	rates: number[];
	p99Ms: number[];
	/** Processor time of a click at full load, which says more than the elapsed time on a busy machine. */
	cpuMicros: number[];
}

interface Measured {
	limit: Clicked;
	service: Clicked;
	/** Database statements per click, or NaN if they are not counted. */
	statementsAClick: number;
}

export const c1Clicks = defineWorkload<ClickScale>({
	name: "C1",
	title: "clicks",
	measures: "redirects a second with counts stored ÷ a constant 302; sales with a click ID and a code ÷ W6",
	scales: {
		full: { clicks: 30_000, paced: 5_000, perSecond: 1_000, sales: 10_000, bursts: 6, rounds: 3 },
		short: { clicks: 5_000, paced: 2_000, perSecond: 1_000, sales: 3_000, bursts: 2, rounds: 1 },
		smoke: { clicks: 200, paced: 50, perSecond: 1_000, sales: 50, bursts: 1, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of DATABASES) {
			figures.push(...clickFigures(kind, scale, await clickLinks(kind, scale, tools)));
			figures.push(...(await sellBoth(kind, scale, tools)));
		}
		return figures;
	},
});

function clickFigures(
	kind: Database,
	{ perSecond }: ClickScale,
	{ limit, service, statementsAClick }: Measured,
): Figure[] {
	const share = best(service.rates) / best(limit.rates);
	const cpu = least(limit.cpuMicros) / least(service.cpuMicros);
	const p99 = least(service.p99Ms) / least(limit.p99Ms);
	return [
		rate(`${kind}: a constant 302 (the limit)`, limit.rates),
		rate(`${kind}: clicks`, service.rates),
		ratio(`${kind}: clicks ÷ the limit`, share, { atLeast: REACH.rate }),
		ratio(`${kind}: processor time of the limit's answer ÷ a click's`, cpu, null),
		ratio(`${kind}: p99 at ${perSecond} a second ÷ the limit's`, p99, { atMost: REACH.p99 }),
		...(kind === "SQLite" ? [] : [statementsFigure(statementsAClick)]),
	];
}

function statementsFigure(value: number): Figure {
	return {
		what: "PostgreSQL: statements a click",
		value,
		unit: "statements",
		goal: { atMost: REACH.statements },
	};
}

/** Sends the clicks, and fails unless every click has been counted at the end. */
function clickLinks(kind: Database, scale: ClickScale, tools: Tools): Promise<Measured> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const { caFile, url: urlOf } = await tools.receiver();
		const codes = await withStore(databaseUrl, async (store) => {
			const partners = await seedPartners(store, await seedShops(store, SHOPS, urlOf));
			return partners.map(({ code }) => code);
		});
		const constant = await startConstant();
		const service = await tools.startService({ databaseUrl, caFile, role: "web" });
		const sides: Record<"limit" | "service", Clicked & { url: string; pid: number }> = {
			limit: { ...constant, rates: [], p99Ms: [], cpuMicros: [] },
			service: { ...service, rates: [], p99Ms: [], cpuMicros: [] },
		};
		let sent = 0;
		let statements: number;
		try {
			for (const { url } of Object.values(sides)) await click(url, codes, scale.clicks, 0);
			sent += scale.clicks;
			const before = await countStatements(kind, databaseUrl);
			for (let burst = 1; burst <= scale.bursts; burst++) {
				for (const side of Object.values(sides)) {
					const spent = cpuMicros(side.pid);
					side.rates.push((await click(side.url, codes, scale.clicks, 0)).perSecond);
					side.cpuMicros.push((cpuMicros(side.pid) - spent) / scale.clicks);
					side.p99Ms.push((await click(side.url, codes, scale.paced, scale.perSecond)).p99Ms);
				}
				sent += scale.clicks + scale.paced;
				const said = Object.entries(sides).map(
					([name, side]) =>
						`${name} ${Math.round(side.rates.at(-1) ?? 0)} a second, ${Math.round(side.cpuMicros.at(-1) ?? 0)} µs each, p99 ${side.p99Ms.at(-1)?.toFixed(1)} ms`,
				);
				tools.say(`${kind}, burst ${burst} of ${scale.bursts}: ${said.join("; ")}`);
			}
			statements = (await countStatements(kind, databaseUrl)) - before;
		} finally {
			await constant.stop();
			await service.stop();
		}
		const stored = await withStore(databaseUrl, async ({ db }) => {
			const { rows } = await sql<{
				clicks: number;
			}>`select sum(clicks) as clicks from click_quarters where quarter > 0`.execute(db);
			return Number(rows[0]?.clicks);
		});
		if (stored !== sent) throw new Error(`${sent} clicks were counted as ${stored}`);
		return { ...sides, statementsAClick: statements / (sent - scale.clicks) };
	});
}

async function startConstant(): Promise<{ url: string; pid: number; stop(): Promise<void> }> {
	const child = fork(join(import.meta.dirname, "constant-redirect-server.ts"), { execArgv: NODE_OPTIONS });
	const [{ url }] = await once(child, "message");
	return { url, pid: child.pid ?? 0, stop: () => endChild(child) };
}

async function click(
	url: string,
	codes: readonly string[],
	clicks: number,
	perSecond: number,
): Promise<LoadAnswer> {
	const args = [url, codes.join(","), String(clicks), String(CONNECTIONS), String(perSecond)];
	const answer = await runChild<LoadAnswer>("click-generator.ts", args);
	if (answer.statuses["302"] !== clicks) {
		throw new Error(`${clicks} clicks were answered ${JSON.stringify(answer.statuses)}`);
	}
	return answer;
}

/**
 * Returns the number of statements that the database has run. The number includes the few statements per
 * second that the service runs without clicks, and the statement of this function.
 */
async function countStatements(kind: Database, databaseUrl: string): Promise<number> {
	if (kind === "SQLite") return Number.NaN;
	return withStore(databaseUrl, async ({ db }) => {
		await sql`create extension if not exists pg_stat_statements`.execute(db);
		const { rows } = await sql<{ calls: number }>`
			select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements
			where dbid = (select oid from pg_database where datname = current_database()) and toplevel`.execute(db);
		return rows[0]?.calls ?? Number.NaN;
	});
}

interface Sold {
	perSecond: number;
	cpuMicros: number;
}

async function sellBoth(kind: Database, scale: ClickScale, tools: Tools): Promise<Figure[]> {
	const [plain, both]: [Sold[], Sold[]] = [[], []];
	const say = ({ perSecond, cpuMicros: each }: Sold) =>
		`${Math.round(perSecond)} sales a second (${Math.round(each)} µs each)`;
	for (let round = 1; round <= scale.rounds; round++) {
		const [without, credited] = [await sell(kind, false, scale, tools), await sell(kind, true, scale, tools)];
		plain.push(without);
		both.push(credited);
		tools.say(
			`${kind}, round ${round} of ${scale.rounds}: ${say(without)}; with both fields ${say(credited)}`,
		);
	}
	const rates = both.map(({ perSecond }) => perSecond);
	const share = best(rates) / best(plain.map(({ perSecond }) => perSecond));
	const costOf = (sold: readonly Sold[]) => least(sold.map(({ cpuMicros: each }) => each));
	return [
		rate(`${kind}: sales with both fields`, rates),
		ratio(`${kind}: sales with both fields ÷ without`, share, { atLeast: REACH.sales }),
		ratio(`${kind}: processor time of a sale without ÷ with both fields`, costOf(plain) / costOf(both), null),
	];
}

/**
 * Reports sales as W6 does. Each sale is stored before the answer, and nothing is delivered at the same time.
 */
function sell(kind: Database, withBoth: boolean, { sales }: ClickScale, tools: Tools): Promise<Sold> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const { caFile, url: urlOf } = await tools.receiver();
		const shops = await withStore(databaseUrl, async (store) => {
			const seeded = await seedShops(store, SHOPS, urlOf);
			if (!withBoth) return seeded;
			const partners = await seedPartners(store, seeded);
			return seeded.map((shop, at) => ({ ...shop, fields: partners[at]?.fields ?? {} }));
		});
		const shopsFile = writeShops(tools.folder, shops);
		const service = await tools.startService({ databaseUrl, caFile, role: "web" });
		try {
			await reportSales(service.url, shopsFile, sales / 5);
			const spent = cpuMicros(service.pid);
			const { perSecond } = await reportSales(service.url, shopsFile, sales);
			return { perSecond, cpuMicros: (cpuMicros(service.pid) - spent) / sales };
		} finally {
			await service.stop();
		}
	});
}
