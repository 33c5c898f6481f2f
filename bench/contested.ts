// Reports each order by the pixel and by the shop's server at the same moment, over 32 pairs of kept
// connections. Every order must end as one recorded conversion with the amount of the server, whichever
// report was stored first.

import { runChild } from "./child-process.ts";
import type { Database } from "./database.ts";
import { rate } from "./figures.ts";
import { callFigures, type Intake, loadWords, type MeasuredLoad, ratesOf, withIntake } from "./intake.ts";
import { CONNECTIONS, type LoadAnswer, PIXEL_VALUE } from "./load-process.ts";
import { countRows, expectCounts } from "./stored-rows.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

/** The generator acts as the proxy that forwards the addresses of the browsers. */
const PROXY = { RINGBACK_TRUSTED_PROXIES: "127.0.0.0/8" };

interface PairScale {
	/** Number of measured orders. A process takes 5,000 pixel calls at once, and then 500 a second. */
	orders: number;
	warmUp: number;
	rounds: number;
}

interface PairLoad extends MeasuredLoad {
	/** Number of orders whose pixel was stored before the server's report. */
	confirmed: number;
	/** Number of calls that were refused as unavailable: 503 for the server, and an entry of the inbound log for a pixel. */
	unavailable: number;
}

export const contested = defineWorkload<PairScale>({
	name: "contested",
	title: "orders",
	measures:
		"each order by the pixel and by the shop's server at the same moment: orders a second, processor time, refusals with 503",
	scales: {
		full: { orders: 4_000, warmUp: 1_000, rounds: 3 },
		short: { orders: 4_000, warmUp: 1_000, rounds: 1 },
		smoke: { orders: 100, warmUp: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const loads: PairLoad[] = [];
			for (let round = 1; round <= scale.rounds; round++) {
				const load = await measurePairs(kind, scale, tools);
				loads.push(load);
				tools.say(
					`round ${round} of ${scale.rounds}: ${kind} ${loadWords(load)}, ${load.confirmed} of ${scale.orders} pixels first, ${load.unavailable} refused with 503`,
				);
			}
			figures.push(rate(`${kind}: orders`, ratesOf(loads)), ...callFigures(kind, loads), {
				what: `${kind}: calls refused with 503`,
				value: Math.max(...loads.map(({ unavailable }) => unavailable)),
				unit: "requests",
				goal: { atMost: 0 },
			});
		}
		return figures;
	},
});

function measurePairs(kind: Database, { orders, warmUp }: PairScale, tools: Tools): Promise<PairLoad> {
	return withIntake(
		kind,
		tools,
		async (intake) => {
			const first = await reportPairs(intake, warmUp, "WARM-");
			const load = await intake.measure(orders, () => reportPairs(intake, orders, "ORDER-"));
			await checkRows(intake.databaseUrl, warmUp + orders, first.confirmed + load.confirmed);
			return load;
		},
		PROXY,
	);
}

/**
 * Reports the orders, and fails unless every report is accepted. A report whose answer was 503 may have been stored, so
 * that its repeat is a duplicate.
 */
async function reportPairs(
	{ url, shopsFile, databaseUrl }: Intake,
	orders: number,
	prefix: string,
): Promise<LoadAnswer & Pick<PairLoad, "confirmed" | "unavailable">> {
	const args = [url, shopsFile, String(orders), String(CONNECTIONS / 2), prefix];
	const answer = await runChild<LoadAnswer>("pair-generator.ts", args);
	const {
		"server 201 RECORDED": recorded = 0,
		"server 200 CONFIRMED": confirmedAtOnce = 0,
		"server 200 DUPLICATE": repeated = 0,
		"server 503": unavailable = 0,
		...others
	} = answer.statuses;
	expectCounts("other answers", others, { "pixel 200": orders });
	expectCounts(
		"answers of the server",
		{ accepted: recorded + confirmedAtOnce + repeated, excess: Math.max(0, repeated - unavailable) },
		{ accepted: orders },
	);
	const pixels = await countRows(
		databaseUrl,
		"inbound_calls",
		`case when kind <> 'pixel' or order_id not like '${prefix}%' then 'other' else outcome end`,
	);
	const { other: _, PARKED: confirmed = 0, DUPLICATE: late = 0, unavailable: lost = 0, ...refused } = pixels;
	expectCounts("pixels", { ...refused, handled: confirmed + late + lost }, { handled: orders });
	return { ...answer, confirmed, unavailable: unavailable + lost };
}

/** Fails unless every order has one conversion as the server reported it, and the moves that lead there. */
async function checkRows(databaseUrl: string, orders: number, confirmed: number): Promise<void> {
	const count = (table: string, expression: string) => countRows(databaseUrl, table, expression);
	const pixelFirst = `status || ' ' || basket_value || ' ' || source || ' ' || coalesce(pixel_basket_value, 'none')`;
	expectCounts("conversions", await count("conversions", pixelFirst), {
		"RECORDED 129.90 postback none": orders - confirmed,
		[`RECORDED 129.90 pixel ${PIXEL_VALUE}`]: confirmed,
	});
	const orderNames = await count("conversions", "programme_id || ' ' || order_id");
	expectCounts("orders", { one: Object.keys(orderNames).length }, { one: orders });
	expectCounts("moves", await count("moves", "move"), {
		record: orders - confirmed,
		park: confirmed,
		confirm: confirmed,
	});
	expectCounts("events", await count("events", "name"), { "conversion.recorded": orders - confirmed });
}
