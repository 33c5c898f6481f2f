import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import type { Click } from "./click-token.ts";
import {
	CREDIT_WORDS,
	compareCredits,
	foldCode,
	judgeCredit,
	NOBODY,
	readClickIds,
	type SaleSignals,
} from "./credit.ts";

const SOLD_MS = Date.UTC(2026, 10, 17);
const SALE: SaleSignals = {
	clicks: [],
	codePartnershipId: undefined,
	programmeId: 1,
	soldAtMs: SOLD_MS,
	windowDays: 30,
	clicksEndMs: () => null,
};

function click(atMs: number, change: Partial<Click> = {}): Click {
	return { programmeId: 1, partnershipId: 11, linkId: 111, atMs, subIds: ["news", "", ""], ...change };
}

test("a sale is credited by its best signal, and always has a reason code", () => {
	const fresh = click(SOLD_MS - DAY_MS);
	const older = click(SOLD_MS - 2 * DAY_MS, { partnershipId: 22 });
	const tooOld = click(SOLD_MS - 30 * DAY_MS - 1);
	const after = click(SOLD_MS + 5 * MINUTE_MS + 1);
	const foreign = click(SOLD_MS - 1, { programmeId: 2 });
	for (const [signals, partnershipId, word] of [
		[{}, null, "NO_SIGNAL"],
		[{ codePartnershipId: 33 }, 33, "CODE"],
		[{ codePartnershipId: 33, clicks: [fresh] }, 33, "CODE"],
		[{ codePartnershipId: null, clicks: [fresh] }, 11, "CLICK"],
		[{ codePartnershipId: null }, null, "UNKNOWN_CODE"],
		[{ codePartnershipId: null, clicks: [tooOld] }, null, "CLICK_TOO_OLD"],
		[{ clicks: [fresh] }, 11, "CLICK"],
		[{ clicks: [older, fresh] }, 11, "CLICK"],
		[{ clicks: [fresh, older] }, 11, "CLICK"],
		[{ clicks: [older, null] }, 22, "CLICK"],
		[{ clicks: [foreign, older] }, 22, "CLICK"],
		[{ clicks: [click(SOLD_MS - 30 * DAY_MS)] }, 11, "CLICK"],
		[{ clicks: [click(SOLD_MS + 5 * MINUTE_MS)] }, 11, "CLICK"],
		[{ clicks: [fresh], clicksEndMs: () => SOLD_MS }, null, "CLICK_ENDED"],
		[{ clicks: [fresh], clicksEndMs: () => fresh.atMs }, 11, "CLICK"],
		[{ clicks: [fresh, older], clicksEndMs: (id: number) => (id === 11 ? SOLD_MS : null) }, 22, "CLICK"],
		[{ clicks: [tooOld], clicksEndMs: () => SOLD_MS }, null, "CLICK_TOO_OLD"],
		[{ clicks: [fresh], codePartnershipId: null, clicksEndMs: () => SOLD_MS }, null, "CLICK_ENDED"],
		[{ clicks: [tooOld] }, null, "CLICK_TOO_OLD"],
		[{ clicks: [after] }, null, "CLICK_AFTER_SALE"],
		[{ clicks: [foreign] }, null, "OTHER_PROGRAMME"],
		[{ clicks: [null] }, null, "CLICK_UNREADABLE"],
		[{ clicks: [null, tooOld] }, null, "CLICK_TOO_OLD"],
	] as const) {
		const credit = judgeCredit({ ...SALE, ...signals });
		assert.deepEqual([credit.partnershipId, credit.word], [partnershipId, word], JSON.stringify(signals));
	}
});

test("a credit by click has the link, the time and the sub IDs, and any other credit has none of them", () => {
	const credited = judgeCredit({ ...SALE, clicks: [click(SOLD_MS - 5)] });
	assert.deepEqual(credited, {
		partnershipId: 11,
		word: "CLICK",
		linkId: 111,
		clickedAtMs: SOLD_MS - 5,
		subIds: ["news", "", ""],
	});
	const byCode = judgeCredit({ ...SALE, clicks: [click(SOLD_MS - 5)], codePartnershipId: 33 });
	assert.deepEqual(byCode, { ...NOBODY, partnershipId: 33, word: "CODE" });
});

test("the last two of several click IDs are read, and coupon codes are compared without case", () => {
	assert.deepEqual(readClickIds("a"), ["a"]);
	assert.deepEqual(readClickIds("a.b.c"), ["b", "c"]);
	assert.deepEqual(readClickIds("a.b.."), ["a", "b"]);
	assert.deepEqual(readClickIds("."), [""]);
	assert.equal(foldCode("summer10"), foldCode("SUMMER10"));
	assert.equal(foldCode("caf\u00e9"), foldCode("CAFE\u0301"));
});

test("one of two different credits is always better, so the best one does not depend on their order", () => {
	const clicks = [SOLD_MS - 1, SOLD_MS - 2].flatMap((atMs) => [
		click(atMs),
		click(atMs, { partnershipId: 22 }),
		click(atMs, { linkId: 222 }),
		click(atMs, { subIds: ["", "news", ""] }),
	]);
	const judged = [
		...[SOLD_MS - 31 * DAY_MS, SOLD_MS + DAY_MS].map((atMs) =>
			judgeCredit({ ...SALE, clicks: [click(atMs)] }),
		),
		...[...clicks, click(SOLD_MS, { programmeId: 2 }), null].map((one) =>
			judgeCredit({ ...SALE, clicks: [one] }),
		),
		...[33, 44, null, undefined].map((codePartnershipId) => judgeCredit({ ...SALE, codePartnershipId })),
		judgeCredit({ ...SALE, clicks: [click(SOLD_MS - 1)], clicksEndMs: () => SOLD_MS }),
		{ ...NOBODY, word: "ASSIGNED" } as const,
	];
	const sorted = judged.toSorted(compareCredits);
	assert.deepEqual(judged.toReversed().toSorted(compareCredits), sorted);
	for (const [at, one] of sorted.entries()) {
		for (const worse of sorted.slice(at + 1)) {
			assert.ok(compareCredits(one, worse) < 0 && compareCredits(worse, one) > 0);
		}
	}
	assert.deepEqual([...new Set(sorted.map(({ word }) => word))], [...CREDIT_WORDS]);
	assert.equal(judgeCredit({ ...SALE, clicks: [...clicks, null], codePartnershipId: null }).word, "CLICK");
});
