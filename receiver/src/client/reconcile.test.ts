import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createFakeService } from "../testing/fake-service.ts";
import { createClient } from "./create-client.ts";
import { reconcile, type ShopOrder } from "./reconcile.ts";

const startMs = Date.parse("2026-03-01T12:00:00Z");
const since = new Date(startMs).toISOString();

async function openBooks() {
	let nowMs = startMs - 86_400_000;
	const now = () => nowMs;
	const service = createFakeService({ now });
	const client = createClient({ ...service.clientOptions, now, retry: { maxAttempts: 1 } });
	for (const orderId of ["old", "old-approved"]) await client.record({ orderId, basketValue: "10.00" });
	nowMs = startMs + 60_000;
	for (const orderId of ["new", "new-refunded"]) await client.record({ orderId, basketValue: "10.00" });
	await client.record({ orderId: "a-test", basketValue: "1.00", test: true });
	nowMs += 60_000;
	service.decide("old-approved", { move: "approve" });
	await client.refund({ orderId: "new-refunded", refundId: "R-1", amount: "4.50", reason: "RETURN" });
	return { service, client };
}

const equalBooks: readonly ShopOrder[] = [
	{
		orderId: "old-approved",
		status: "APPROVED",
		basketValue: "10.00",
		commission: "0.80",
		networkFee: "0.25",
	},
	{ orderId: "new", status: "RECORDED", basketValue: "10", currency: "EUR" },
	{ orderId: "new-refunded", basketValue: "5.5", commission: "0.44" },
];

test("equal books have no differences, and the next run starts ten minutes before the newest change", async () => {
	const { client } = await openBooks();
	for (const time of [since, new Date(startMs)]) {
		deepEqual(await reconcile({ client, orders: equalBooks, since: time }), {
			ok: true,
			differences: [],
			compared: 3,
			nextSince: "2026-03-01T11:52:00.000Z",
		});
	}
});

test("orders that one side lacks and fields that differ are named, also of an older order", async () => {
	const { client, service } = await openBooks();
	async function* orders(): AsyncGenerator<ShopOrder> {
		yield { orderId: "old", status: "RECORDED", basketValue: "9.99" };
		yield { orderId: "old-approved", status: "RECORDED", commission: "0.80" };
		yield { orderId: "new-refunded", status: "RECORDED", basketValue: "10.00", commission: "0.80" };
		yield { orderId: "never-sent", status: "RECORDED" };
		yield { orderId: "new", eventType: "LEAD" };
	}
	const result = await reconcile({ client, orders: orders(), since });
	deepEqual(
		result.ok &&
			result.differences.map((one) => [
				one.kind,
				one.kind === "missing_at_shop" ? one.conversion.orderId : one.order.orderId,
				one.kind === "differs" ? one.fields : [],
			]),
		[
			["differs", "old", ["basketValue"]],
			["differs", "old-approved", ["status"]],
			["differs", "new-refunded", ["basketValue", "commission"]],
			["missing_at_service", "never-sent", []],
			["missing_at_service", "new", []],
			["missing_at_shop", "new", []],
		],
	);
	const withTests = await reconcile({ client, orders: equalBooks, since, includeTests: true });
	deepEqual(withTests.ok && withTests.differences.map(({ kind }) => kind), ["missing_at_shop"]);
	equal(service.conversions().length, 5, "nothing was changed");
});

test("an amount of any length is compared in time that its length explains", async () => {
	const { client } = await openBooks();
	const amount = `1.${"0".repeat(64 * 1024)}1`;
	const before = process.cpuUsage();
	const compared = await reconcile({ client, orders: [{ orderId: "new", basketValue: amount }], since });
	equal(compared.ok && compared.differences.some(({ kind }) => kind === "differs"), true);
	const { user } = process.cpuUsage(before);
	ok(user < 500_000, `the comparison took ${user} µs of the processor`);
});

test("a call that fails ends the comparison with that failure", async () => {
	const { client, service } = await openBooks();
	service.setOutage(503);
	const result = await reconcile({ client, orders: equalBooks, since });
	deepEqual(!result.ok && [result.kind, result.retryable], ["unavailable", true]);
	for (const wrong of [undefined, "", new Date(Number.NaN), startMs]) {
		const options = [{ client, orders: [], since: wrong }];
		await rejects(
			Reflect.apply(reconcile, undefined, options),
			/^TypeError: since must be a valid Date, or a/,
		);
	}
});
