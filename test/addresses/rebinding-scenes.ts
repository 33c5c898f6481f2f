// Names that change their mind between check and dial, between two deliveries, between two questions: told one
// by one, each with what must come of it.

import { deepEqual, equal, ok } from "node:assert/strict";
import { askAgain } from "./ask-again.ts";
import { answerWith } from "./corpus/entry.ts";
import { type DeliveryResult, isTimedOut, isUnheard } from "./delivery-service.ts";
import { BAD, GOOD, type Stage } from "./rebinding-stage.ts";

export interface Scene {
	title: string;
	play(stage: Stage): Promise<void>;
}

const PUBLIC = answerWith(GOOD);
const [FORBIDDEN, OTHER_FORBIDDEN, FORBIDDEN_SIX] = BAD;
const INSIDE = answerWith(FORBIDDEN);
/** Where a slow machine may miss the moment: a kept connection is closed after four seconds. */
const MAX_TRIES = 5;
const ALTERNATIONS = 8;

export const SCENES: readonly Scene[] = [
	{
		title: "a name that turns forbidden after it was saved gets nothing",
		async play(stage) {
			const { shops, name } = await open(stage, answerWith(GOOD));
			equal(await stage.save(first(shops), name), "saved");
			stage.zone.set(name, INSIDE);
			stage.forgetNames();
			await expectForbidden(stage, shops, FORBIDDEN);
		},
	},
	{
		title: "a name that was forbidden is refused when saved, and taken when it is public",
		async play(stage) {
			const { shops, name } = await open(stage, INSIDE);
			equal(await stage.save(first(shops), name), "postback_url_forbidden_address");
			stage.zone.set(name, PUBLIC);
			stage.forgetNames();
			equal(await stage.save(first(shops), name), "saved");
			await expectDelivered(stage, shops);
		},
	},
	{
		title: "a delivery to a name that was forbidden stays failed; the next one, to the public name, arrives",
		async play(stage) {
			const { shops, name } = await open(stage, INSIDE);
			await expectForbidden(stage, shops, FORBIDDEN);
			stage.zone.set(name, PUBLIC);
			stage.forgetNames();
			await expectDelivered(stage, shops);
		},
	},
	{
		title: "a name that turned forbidden gets nothing although its kept connection is good to the end",
		async play(stage) {
			for (let tries = 1; tries <= MAX_TRIES; tries++) {
				const { shops, name } = await open(stage, PUBLIC);
				await expectDelivered(stage, shops);
				const before = stage.shop.requests.at(-1)?.connectionId;
				stage.zone.set(name, INSIDE);
				stage.forgetNames();
				await expectForbidden(stage, shops, FORBIDDEN);
				stage.zone.set(name, PUBLIC);
				stage.forgetNames();
				await expectDelivered(stage, shops);
				// The same one again: it was there while the name was forbidden.
				if (stage.shop.requests.at(-1)?.connectionId === before) return;
			}
			throw new Error("no connection was ever kept");
		},
	},
	{
		title: "the address that was checked is the one dialled: nothing is asked between check and dial",
		async play(stage) {
			for (let tries = 1; tries <= MAX_TRIES; tries++) {
				const { shops, name } = await open(stage, PUBLIC);
				let isFirst = true;
				stage.zone.set(name, ({ type }) => {
					if (type !== "A") return {};
					const { A } = isFirst ? PUBLIC : INSIDE;
					isFirst = false;
					return A;
				});
				const arrived = stage.shop.requests.length;
				const [result] = await stage.deliver(shops);
				// More than one question for each family: the machine was so slow that the first was repeated.
				if (stage.asked(name) > 2) continue;
				equal(result?.delivery.state, "delivered");
				equal(stage.shop.requests.length, arrived + 1);
				return;
			}
			throw new Error("every question had to be repeated");
		},
	},
	{
		title: "within the second for which answers are kept, the address that was judged is used",
		async play(stage) {
			const { shops, name } = await open(stage, PUBLIC);
			await expectDelivered(stage, shops);
			stage.zone.set(name, INSIDE);
			for (let count = 0; count < ALTERNATIONS; count++) {
				const [result] = await deliverHeard(stage, shops);
				// On a slow machine the second may be over. Never is it anything else.
				ok(result?.attempt?.http_status === 204 || result?.attempt?.result === "forbidden-address");
			}
		},
	},
	{
		title: "a name whose answer alternates with every question is judged by the answer that was given",
		async play(stage) {
			const { shops, name } = await open(stage, PUBLIC);
			let count = 0;
			stage.zone.set(
				name,
				({ type }) => (type === "A" ? [PUBLIC.A, INSIDE.A][count++ % 2] : undefined) ?? {},
			);
			await expectBoth(stage, shops);
		},
	},
	{
		title: "a name whose IPv6 answer alternates between none and a forbidden one is refused with the latter",
		async play(stage) {
			const { shops, name } = await open(stage, PUBLIC);
			let count = 0;
			const answers = [{}, answerWith(FORBIDDEN_SIX).AAAA];
			stage.zone.set(name, ({ type }) => (type === "A" ? PUBLIC.A : answers[count++ % 2]) ?? {});
			await expectBoth(stage, shops);
		},
	},
	{
		title: "a name whose families take turns to be forbidden is always refused",
		async play(stage) {
			const { shops, name } = await open(stage, PUBLIC);
			for (const answers of [
				answerWith(GOOD, FORBIDDEN_SIX),
				INSIDE,
				answerWith(GOOD, OTHER_FORBIDDEN),
				answerWith(OTHER_FORBIDDEN, GOOD),
				answerWith(FORBIDDEN_SIX),
				answerWith(GOOD, `::ffff:${FORBIDDEN}`),
			]) {
				stage.zone.set(name, answers);
				stage.forgetNames();
				const [result] = await deliverHeard(stage, shops);
				equal(result?.attempt?.result, "forbidden-address", JSON.stringify(answers));
			}
		},
	},
	{
		title: "a chain of aliases that is led inside is refused",
		async play(stage) {
			const { shops, name } = await open(stage, PUBLIC);
			await expectDelivered(stage, shops);
			const owner = "inside.alias.example";
			const records = [
				{ type: "CNAME", data: "outside.alias.example" },
				{ owner: "outside.alias.example", type: "CNAME", data: owner },
				{ owner, type: "A", data: FORBIDDEN },
			] as const;
			stage.zone.set(name, { A: { answers: records }, AAAA: {} });
			stage.forgetNames();
			await expectForbidden(stage, shops, FORBIDDEN);
		},
	},
	{
		title: "a literal is judged too: the allowed half of loopback is dialled, the other is not",
		async play(stage) {
			await expectDelivered(stage, await stage.addShops([GOOD]));
			for (const host of [...BAD, `::ffff:${FORBIDDEN}`]) {
				const [result] = await deliverHeard(stage, await stage.addShops([host]));
				equal(result?.attempt?.result, "forbidden-address", host);
			}
		},
	},
];

async function open(stage: Stage, answers: typeof PUBLIC) {
	const name = stage.newName();
	stage.zone.set(name, answers);
	return { name, shops: await stage.addShops([name]) };
}

type Shops = Awaited<ReturnType<Stage["addShops"]>>;

/** An event each, and another one while a look-up timed out. */
function deliverHeard(stage: Stage, shops: Shops): Promise<DeliveryResult[]> {
	return askAgain(
		() => stage.deliver(shops),
		(results) => results.some(isUnheard),
	);
}

async function expectDelivered(stage: Stage, shops: Shops): Promise<void> {
	const arrived = stage.shop.requests.length;
	for (const { delivery, attempt } of await deliverHeard(stage, shops)) {
		deepEqual([delivery.state, attempt?.http_status], ["delivered", 204], attempt?.detail ?? "");
	}
	equal(stage.shop.requests.length, arrived + shops.length);
}

async function expectForbidden(stage: Stage, shops: Shops, address: string): Promise<void> {
	const arrived = stage.shop.requests.length;
	for (const { delivery, attempt } of await deliverHeard(stage, shops)) {
		deepEqual(
			[delivery.state, delivery.last_verdict, attempt?.result],
			["failed", "forbidden address", "forbidden-address"],
		);
		equal(attempt?.detail, null, "the address is for the log");
	}
	equal(stage.shop.requests.length, arrived, "nothing arrives");
	const logged = stage.log.lines.some(({ fields }) => "address" in fields && fields.address === address);
	ok(logged, `the log names ${address}`);
}

/** Over and over: what comes is one of the two, and each comes. */
async function expectBoth(stage: Stage, shops: Shops): Promise<void> {
	const seen = new Set<string>();
	for (let count = 0; count < ALTERNATIONS; count++) {
		stage.forgetNames();
		const results = await stage.deliver(shops);
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
