import assert from "node:assert/strict";
import { test } from "node:test";
import type { Click } from "./click-token.ts";
import {
	CREDIT_WORDS,
	compareCredits,
	creditedRates,
	foldCode,
	judgeCredit,
	NOBODY,
	readClickIds,
	type SaleSignals,
} from "./credit.ts";
import { DAY_MS, MINUTE_MS } from "./time.ts";

const SOLD_MS = Date.UTC(2026, 10, 17);
const SALE: SaleSignals = {
	clicks: [],
	codePartnershipId: undefined,
	programmeId: 1,
	soldAtMs: SOLD_MS,
	windowDays: 30,
};

function click(atMs: number, change: Partial<Click> = {}): Click {
	return { programmeId: 1, partnershipId: 11, linkId: 111, atMs, subIds: ["news", "", ""], ...change };
}

test("a sale is credited by the first row of the table that fits, and always has its word", () => {
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
		[{ clicks: [tooOld] }, null, "CLICK_TOO_OLD"],
		[{ clicks: [after] }, null, "CLICK_AFTER_SALE"],
		[{ clicks: [foreign] }, null, "OTHER_PROGRAMME"],
		[{ clicks: [null] }, null, "CLICK_UNREADABLE"],
		[{ clicks: [null, tooOld] }, null, "CLICK_TOO_OLD"],
	] as const) {
		const credit = judgeCredit({ ...SALE, ...signals });
		assert.deepEqual([credit.partnership_id, credit.word], [partnershipId, word], JSON.stringify(signals));
	}
});

test("a credit by click says which link, when and with what sub ids; any other says none of it", () => {
	const credited = judgeCredit({ ...SALE, clicks: [click(SOLD_MS - 5)] });
	const sub = { sub_1: "news", sub_2: "", sub_3: "" };
	assert.deepEqual(credited, {
		partnership_id: 11,
		word: "CLICK",
		link_id: 111,
		clicked_at_ms: SOLD_MS - 5,
		...sub,
	});
	const byCode = judgeCredit({ ...SALE, clicks: [click(SOLD_MS - 5)], codePartnershipId: 33 });
	assert.deepEqual(byCode, { ...NOBODY, partnership_id: 33, word: "CODE" });
});

test("of click ids that a shop joins by dots the last two are read, and codes have no case", () => {
	assert.deepEqual(readClickIds("a"), ["a"]);
	assert.deepEqual(readClickIds("a.b.c"), ["b", "c"]);
	assert.deepEqual(readClickIds("a.b.."), ["a", "b"]);
	assert.deepEqual(readClickIds("."), [""]);
	assert.equal(foldCode("summer10"), foldCode("SUMMER10"));
	assert.equal(foldCode("caf\u00e9"), foldCode("CAFE\u0301"));
});

test("nobody's sale costs nothing, and a partnership's own rate goes before the programme's", () => {
	const programme = { commission_rate: "8.0000", fee_rate: "2.5000" };
	assert.deepEqual(creditedRates(programme, null), { commission_rate: "0.0000", fee_rate: "0.0000" });
	assert.deepEqual(creditedRates(programme, { commission_rate: null }), programme);
	const own = creditedRates(programme, { commission_rate: "12.5000" });
	assert.deepEqual(own, { commission_rate: "12.5000", fee_rate: "2.5000" });
});

test("of any two credits that differ one is better, and the best is the same in any order", () => {
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
