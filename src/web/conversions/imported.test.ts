import { match } from "node:assert/strict";
import { test } from "node:test";
import { openJobs, runLines } from "../../jobs/jobs.test-support.ts";
import { findByOrders } from "../../store/queries/conversions.ts";
import { openShop } from "./shop.test-support.ts";

test("the page of an imported conversion says where it was decided, when, and that nobody was told", async (t) => {
	const { site, programme, base, owner } = await openShop(t);
	const header = "programme,order_id,status,sold_at,decided_at,amount,reason";
	const line = `${programme.public_id},OLD-1,rejected,2025-02-01,2025-02-09,20,FRAUD`;
	await runLines(openJobs(site.store), "conversions", [header, line], "apply");
	const [conversion] = await findByOrders(site.store.db, [{ programme_id: programme.id, order_id: "OLD-1" }]);
	const { text } = await owner.open(`${base}/${conversion?.public_id}`);
	match(text, /Imported as rejected: Fraud/);
	match(text, /decided on <time[^>]+datetime="2025-02-09T00:00:00/);
	match(text, /in the software it was imported from/);
	match(text, /Imports send no callbacks/);
});
