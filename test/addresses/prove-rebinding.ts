// Runs the cases of rebinding, then rounds of chance: many shops at once whose names say something else in
// every round, each delivery held against what its name stood for in that round.

import { BrokenPromise, type Progress } from "../support/proof.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { type Answers, answerWith } from "./corpus/entry.ts";
import { type DeliveryResult, isTimedOut } from "./delivery-service.ts";
import { CASES } from "./rebinding-cases.ts";
import { BAD, GOOD, openRebinding, type RebindingSetup } from "./rebinding-setup.ts";

export interface RebindingCounts {
	cases: number;
	rounds: number;
	delivered: number;
	refused: number;
	dials: number;
}

const SHOPS = 40;
/** Of rounds in which the answers of the rounds before may still be remembered. */
const SHARE_KEPT = 0.3;

type Kind = "delivered" | "forbidden" | "unresolvable";

interface DrawnName {
	kind: Kind;
	answers: Answers;
}

export async function proveRebinding(
	rounds: number,
	seed: number,
	progress: Progress,
	replay: string,
): Promise<RebindingCounts> {
	const setup = await openRebinding();
	try {
		for (const [index, { title, run }] of CASES.entries()) {
			progress(`case ${index + 1} of ${CASES.length}: ${title}`);
			await run(setup).catch((error: unknown) => {
				throw new BrokenPromise(`case "${title}"`, replay, error);
			});
			stopIfBroken(setup, `in case "${title}"`, replay);
		}
		const counts = { cases: CASES.length, rounds, delivered: 0, refused: 0 };
		const names = Array.from({ length: SHOPS }, setup.newName);
		const shops = await setup.addShops(names);
		const random = createSeededRandom(seed);
		/** By shop: what its name has stood for since the product last had to ask. */
		const mayBe = names.map(() => new Set<Kind>());
		for (let round = 1; round <= rounds; round++) {
			progress(`round ${round} of ${rounds}`);
			const drawn = names.map(() => drawName(random));
			for (const [index, name] of names.entries())
				setup.zone.set(name, drawn[index]?.answers ?? answerWith());
			if (!random.chance(SHARE_KEPT)) {
				setup.forgetNames();
				for (const kinds of mayBe) kinds.clear();
			}
			for (const [index, { kind }] of drawn.entries()) mayBe[index]?.add(kind);
			for (const [index, result] of (await setup.deliver(shops)).entries()) {
				if (isTimedOut(result)) continue;
				const kind = readKind(result);
				if (kind === undefined || mayBe[index]?.has(kind) !== true) {
					const found = `${result.delivery.state}, ${result.attempt?.result}, ${result.attempt?.detail}`;
					throw new BrokenPromise(
						`round ${round}, ${names[index]}: ${JSON.stringify(drawn[index])} became ${found}`,
						replay,
					);
				}
				if (kind === "delivered") counts.delivered += 1;
				if (kind === "forbidden") counts.refused += 1;
			}
			stopIfBroken(setup, `in round ${round}`, replay);
		}
		return { ...counts, dials: setup.dials.length };
	} finally {
		await setup.close();
	}
}

function drawName(random: SeededRandom): DrawnName {
	const bad = random.pick(BAD);
	const carried = `::ffff:${random.pick(BAD.slice(0, 2))}`;
	const alias = { owner: "inside.alias.example", type: "A", data: random.pick(BAD.slice(0, 2)) } as const;
	return random.pick<DrawnName>([
		{ kind: "delivered", answers: answerWith(GOOD) },
		{ kind: "delivered", answers: answerWith(GOOD, GOOD) },
		{ kind: "forbidden", answers: answerWith(bad) },
		{ kind: "forbidden", answers: answerWith(GOOD, bad) },
		{ kind: "forbidden", answers: answerWith(bad, GOOD) },
		{ kind: "forbidden", answers: answerWith(GOOD, carried) },
		{
			kind: "forbidden",
			answers: { A: { answers: [{ type: "CNAME", data: alias.owner }, alias] }, AAAA: {} },
		},
		{ kind: "unresolvable", answers: answerWith() },
		{ kind: "unresolvable", answers: { A: { failure: "NXDOMAIN" }, AAAA: { failure: "NXDOMAIN" } } },
	]);
}

function readKind({ delivery, attempt }: DeliveryResult): Kind | undefined {
	if (delivery.state === "delivered" && attempt?.http_status === 204) return "delivered";
	if (delivery.state === "failed" && attempt?.result === "forbidden-address") return "forbidden";
	const isUnresolved = attempt?.result === "network-error" && attempt.detail?.endsWith("(look-up)");
	return delivery.state === "pending" && isUnresolved ? "unresolvable" : undefined;
}

function stopIfBroken(setup: RebindingSetup, where: string, replay: string): void {
	const broken = setup.findBroken();
	if (broken.length > 0) throw new BrokenPromise(`${where}: ${broken.join("; ")}`, replay);
}
