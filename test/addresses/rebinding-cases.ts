// Names that change their mind between check and dial, between two deliveries, between two questions: told one
// by one, each with what must come of it.

import { deepEqual, equal, ok } from "node:assert/strict";
import { answerWith } from "./corpus/entry.ts";
import { askAgain, type DeliveryResult, isTimedOut, isUnheard } from "./delivery-service.ts";
import { BAD, GOOD, type RebindingSetup } from "./rebinding-setup.ts";

export interface RebindingCase {
	title: string;
	run(setup: RebindingSetup): Promise<void>;
}

const PUBLIC = answerWith(GOOD);
const [FORBIDDEN, OTHER_FORBIDDEN, FORBIDDEN_SIX] = BAD;
const INSIDE = answerWith(FORBIDDEN);
/** Where a slow machine may miss the moment: a kept connection is closed after four seconds. */
const MAX_TRIES = 5;
const ALTERNATIONS = 8;

export const CASES: readonly RebindingCase[] = [
	{
		title: "a name that turns forbidden after it was saved gets nothing",
		async run(setup) {
			const { shops, name } = await open(setup, answerWith(GOOD));
			equal(await setup.save(first(shops), name), "saved");
			setup.zone.set(name, INSIDE);
			setup.forgetNames();
			await expectForbidden(setup, shops, FORBIDDEN);
		},
	},
	{
		title: "a name that was forbidden is refused when saved, and taken when it is public",
		async run(setup) {
			const { shops, name } = await open(setup, INSIDE);
			equal(await setup.save(first(shops), name), "postback_url_forbidden_address");
			setup.zone.set(name, PUBLIC);
			setup.forgetNames();
			equal(await setup.save(first(shops), name), "saved");
			await expectDelivered(setup, shops);
		},
	},
	{
		title: "a delivery to a name that was forbidden stays failed; the next one, to the public name, arrives",
		async run(setup) {
			const { shops, name } = await open(setup, INSIDE);
			await expectForbidden(setup, shops, FORBIDDEN);
			setup.zone.set(name, PUBLIC);
			setup.forgetNames();
			await expectDelivered(setup, shops);
		},
	},
	{
		title: "a name that turned forbidden gets nothing although its kept connection is good to the end",
		async run(setup) {
			for (let tries = 1; tries <= MAX_TRIES; tries++) {
				const { shops, name } = await open(setup, PUBLIC);
				await expectDelivered(setup, shops);
				const before = setup.shop.requests.at(-1)?.connectionId;
				setup.zone.set(name, INSIDE);
				setup.forgetNames();
				await expectForbidden(setup, shops, FORBIDDEN);
				setup.zone.set(name, PUBLIC);
				setup.forgetNames();
				await expectDelivered(setup, shops);
				// The same one again: it was there while the name was forbidden.
				if (setup.shop.requests.at(-1)?.connectionId === before) return;
			}
			throw new Error("no connection was ever kept");
		},
	},
	{
		title: "the address that was checked is the one dialled: nothing is asked between check and dial",
		async run(setup) {
			for (let tries = 1; tries <= MAX_TRIES; tries++) {
				const { shops, name } = await open(setup, PUBLIC);
				let isFirst = true;
				setup.zone.set(name, ({ type }) => {
					if (type !== "A") return {};
					const { A } = isFirst ? PUBLIC : INSIDE;
					isFirst = false;
					return A;
				});
				const arrived = setup.shop.requests.length;
				const [result] = await setup.deliver(shops);
				// More than one question for each family: the machine was so slow that the first was repeated.
				if (setup.asked(name) > 2) continue;
				equal(result?.delivery.state, "delivered");
				equal(setup.shop.requests.length, arrived + 1);
				return;
			}
			throw new Error("every question had to be repeated");
		},
	},
	{
		title: "within the second for which answers are kept, the address that was judged is used",
		async run(setup) {
			const { shops, name } = await open(setup, PUBLIC);
			await expectDelivered(setup, shops);
			setup.zone.set(name, INSIDE);
			for (let count = 0; count < ALTERNATIONS; count++) {
				const [result] = await deliverHeard(setup, shops);
				// On a slow machine the second may be over. Never is it anything else.
				ok(result?.attempt?.http_status === 204 || result?.attempt?.result === "forbidden-address");
			}
		},
	},
	{
		title: "a name whose answer alternates with every question is judged by the answer that was given",
		async run(setup) {
			const { shops, name } = await open(setup, PUBLIC);
			let count = 0;
			setup.zone.set(
				name,
				({ type }) => (type === "A" ? [PUBLIC.A, INSIDE.A][count++ % 2] : undefined) ?? {},
			);
			await expectBoth(setup, shops);
		},
	},
	{
		title: "a name whose IPv6 answer alternates between none and a forbidden one is refused with the latter",
		async run(setup) {
			const { shops, name } = await open(setup, PUBLIC);
			let count = 0;
			const answers = [{}, answerWith(FORBIDDEN_SIX).AAAA];
			setup.zone.set(name, ({ type }) => (type === "A" ? PUBLIC.A : answers[count++ % 2]) ?? {});
			await expectBoth(setup, shops);
		},
	},
	{
		title: "a name whose families take turns to be forbidden is always refused",
		async run(setup) {
			const { shops, name } = await open(setup, PUBLIC);
			for (const answers of [
				answerWith(GOOD, FORBIDDEN_SIX),
				INSIDE,
				answerWith(GOOD, OTHER_FORBIDDEN),
				answerWith(OTHER_FORBIDDEN, GOOD),
				answerWith(FORBIDDEN_SIX),
				answerWith(GOOD, `::ffff:${FORBIDDEN}`),
			]) {
				setup.zone.set(name, answers);
				setup.forgetNames();
				const [result] = await deliverHeard(setup, shops);
				equal(result?.attempt?.result, "forbidden-address", JSON.stringify(answers));
			}
		},
	},
	{
		title: "a chain of aliases that is led inside is refused",
		async run(setup) {
			const { shops, name } = await open(setup, PUBLIC);
			await expectDelivered(setup, shops);
			const owner = "inside.alias.example";
			const records = [
				{ type: "CNAME", data: "outside.alias.example" },
				{ owner: "outside.alias.example", type: "CNAME", data: owner },
				{ owner, type: "A", data: FORBIDDEN },
			] as const;
			setup.zone.set(name, { A: { answers: records }, AAAA: {} });
			setup.forgetNames();
			await expectForbidden(setup, shops, FORBIDDEN);
		},
	},
	{
		title: "a literal is judged too: the allowed half of loopback is dialled, the other is not",
		async run(setup) {
			await expectDelivered(setup, await setup.addShops([GOOD]));
			for (const host of [...BAD, `::ffff:${FORBIDDEN}`]) {
				const [result] = await deliverHeard(setup, await setup.addShops([host]));
				equal(result?.attempt?.result, "forbidden-address", host);
			}
		},
	},
];

async function open(setup: RebindingSetup, answers: typeof PUBLIC) {
	const name = setup.newName();
	setup.zone.set(name, answers);
	return { name, shops: await setup.addShops([name]) };
}

type Shops = Awaited<ReturnType<RebindingSetup["addShops"]>>;

/** An event each, and another one while a look-up timed out. */
function deliverHeard(setup: RebindingSetup, shops: Shops): Promise<DeliveryResult[]> {
	return askAgain(
		() => setup.deliver(shops),
		(results) => results.some(isUnheard),
	);
}

async function expectDelivered(setup: RebindingSetup, shops: Shops): Promise<void> {
	const arrived = setup.shop.requests.length;
	for (const { delivery, attempt } of await deliverHeard(setup, shops)) {
		deepEqual([delivery.state, attempt?.http_status], ["delivered", 204], attempt?.detail ?? "");
	}
	equal(setup.shop.requests.length, arrived + shops.length);
}

async function expectForbidden(setup: RebindingSetup, shops: Shops, address: string): Promise<void> {
	const arrived = setup.shop.requests.length;
	for (const { delivery, attempt } of await deliverHeard(setup, shops)) {
		deepEqual(
			[delivery.state, delivery.last_verdict, attempt?.result],
			["failed", "forbidden address", "forbidden-address"],
		);
		equal(attempt?.detail, null, "the address is for the log");
	}
	equal(setup.shop.requests.length, arrived, "nothing arrives");
	const logged = setup.log.lines.some(({ fields }) => "address" in fields && fields.address === address);
	ok(logged, `the log names ${address}`);
}

/** Over and over: what comes is one of the two, and each comes. */
async function expectBoth(setup: RebindingSetup, shops: Shops): Promise<void> {
	const seen = new Set<string>();
	for (let count = 0; count < ALTERNATIONS; count++) {
		setup.forgetNames();
		const results = await setup.deliver(shops);
		for (const result of results.filter((one) => !isTimedOut(one))) seen.add(nameResult(result));
	}
	deepEqual([...seen].sort(), ["answered 204", "forbidden-address null"]);
}

function nameResult({ attempt }: DeliveryResult): string {
	return `${attempt?.result} ${attempt?.http_status}`;
}

function first<Item>([item]: readonly Item[]): Item {
	if (item === undefined) throw new Error("there is none");
	return item;
}
