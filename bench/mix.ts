// The workload "mix" sends signed calls of a hundred shops over 64 kept connections: new sales, repeats of sales, approvals and
// partial refunds. Each repeat, approval and refund is about a sale of its own, which was reported during the
// warm-up, so that every call is accepted. The answers of each kind and the stored rows are counted.

import { runChild } from "./child-process.ts";
import type { Database } from "./database.ts";
import { rate } from "./figures.ts";
import { callFigures, type Intake, loadWords, type MeasuredLoad, ratesOf, withIntake } from "./intake.ts";
import { CONNECTIONS, type LoadAnswer, reportSales } from "./load-process.ts";
import { countOf, earlierSales } from "./mixed-calls.ts";
import { countRows, expectCounts } from "./stored-rows.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const EARLIER = "EARLIER-";

interface MixedScale {
	/** Number of measured calls, a multiple of ten. */
	calls: number;
	rounds: number;
}

export const mix = defineWorkload<MixedScale>({
	name: "mix",
	title: "of calls",
	measures:
		"signed calls a second: 60 % new sales, 20 % repeats, 10 % approvals, 10 % partial refunds; processor time",
	scales: {
		full: { calls: 20_000, rounds: 3 },
		short: { calls: 8_000, rounds: 1 },
		smoke: { calls: 100, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const loads: MeasuredLoad[] = [];
			for (let round = 1; round <= scale.rounds; round++) {
				const load = await measureMix(kind, scale, tools);
				loads.push(load);
				tools.say(`round ${round} of ${scale.rounds}: ${kind} ${loadWords(load)}`);
			}
			figures.push(rate(kind, ratesOf(loads)), ...callFigures(kind, loads));
		}
		return figures;
	},
});

function measureMix(kind: Database, { calls }: MixedScale, tools: Tools): Promise<MeasuredLoad> {
	return withIntake(kind, tools, async (intake) => {
		const earlier = earlierSales(calls).total;
		await reportSales(intake.url, intake.shopsFile, earlier, { prefix: EARLIER });
		const load = await intake.measure(calls, () => sendMix(intake, calls));
		await checkRows(intake.databaseUrl, earlier, calls);
		return load;
	});
}

/** Sends the mix, and fails unless every call is accepted in the expected way. */
async function sendMix({ url, shopsFile }: Intake, calls: number): Promise<LoadAnswer> {
	const args = [url, shopsFile, String(calls), String(CONNECTIONS), EARLIER, "NEW-"];
	const answer = await runChild<LoadAnswer>("mixed-generator.ts", args);
	expectCounts("answers", answer.statuses, {
		"sale 201 RECORDED": countOf("sale", calls),
		"repeat 200 DUPLICATE": countOf("repeat", calls),
		"approval 200 APPROVED": countOf("approval", calls),
		"refund 200 REFUNDED": countOf("refund", calls),
	});
	return answer;
}

/** Fails unless the database contains exactly the rows of the accepted calls. */
async function checkRows(databaseUrl: string, earlier: number, calls: number): Promise<void> {
	const sales = earlier + countOf("sale", calls);
	const approvals = countOf("approval", calls);
	const refunds = countOf("refund", calls);
	const count = (table: string, expression: string) => countRows(databaseUrl, table, expression);
	expectCounts("conversions", await count("conversions", "status || ' ' || basket_value"), {
		"RECORDED 129.90": sales - approvals - refunds,
		"APPROVED 129.90": approvals,
		"RECORDED 99.90": refunds,
	});
	expectCounts("moves", await count("moves", "move"), { record: sales, approve: approvals, refund: refunds });
	expectCounts("refunds", await count("refunds", "amount || ' of ' || refund_id"), {
		"30.00 of R-1": refunds,
	});
	expectCounts("events", await count("events", "name"), {
		"conversion.recorded": sales,
		"conversion.approved": approvals,
	});
}
