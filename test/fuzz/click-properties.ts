// Properties of clicks. Nobody can change a click ID, and no link leads away from the programme's hosts.

import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { landingAt, landingUrl } from "#modules/partners/domain/click.ts";
import { type Click, createClickSealer, keptSubIds } from "#modules/partners/domain/click-token.ts";
import { judgeCredit } from "#modules/partners/domain/credit.ts";
import { LANDING_HOSTS, LANDING_TEXT, WITHIN_LANDING_HOSTS } from "../support/landing-texts.ts";
import { ANY_TEXT } from "./any-event.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";

const sealer = createClickSealer(createKeyRing([new Uint8Array(32).fill(7)]));
const stranger = createClickSealer(createKeyRing([new Uint8Array(32).fill(8)]));

const ID = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const ANY_CLICK: fc.Arbitrary<Click> = fc.record(
	{
		programmeId: ID,
		partnershipId: ID,
		linkId: ID,
		// A click ID stores the day in two bytes, which limits the time.
		atMs: fc.integer({ min: 0, max: 2 ** 16 * DAY_MS - 1 }),
		subIds: fc.tuple(ANY_TEXT, ANY_TEXT, ANY_TEXT).map(keptSubIds),
	},
	{ noNullPrototype: true },
);
const ANY_IV = fc.uint8Array({ minLength: 12, maxLength: 12 });
/** Positions of 20 one-bit changes per case, so that 50,000 cases are a million changes. */
const BITS = fc.array(fc.nat(), { minLength: 20, maxLength: 20 });
const WINDOW_DAYS = 365;

const TOKENS = pureProperty(
	"a click ID opens to its own click, and credits nobody if one bit, the network or the programme differs",
	[],
	() =>
		fc.property(ANY_CLICK, ANY_IV, BITS, ID, (click, iv, bits, otherProgramme) => {
			const token = sealer.seal(click, iv);
			deepEqual(sealer.open(token), click);
			ok(token.length <= 196, "as long as the documents say");
			equal(stranger.open(token), null);
			const bytes = Buffer.from(token, "base64url");
			for (const any of bits) {
				const bit = any % (bytes.length * 8);
				const changed = Buffer.from(bytes);
				changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
				equal(sealer.open(changed.toString("base64url")), null, `bit ${bit}`);
			}
			const credit = judgeCredit({
				clicks: [click],
				codePartnershipId: undefined,
				programmeId: otherProgramme,
				soldAtMs: click.atMs,
				windowDays: WINDOW_DAYS,
				clicksEndMs: () => null,
			});
			const isOwn = otherProgramme === click.programmeId;
			equal(credit.partnershipId, isOwn ? click.partnershipId : null);
			equal(credit.word, isOwn ? "CLICK" : "OTHER_PROGRAMME");
		}),
);

const REDIRECTS = pureProperty("no redirect leaves the programme's hosts", ["led", "refused"], (meet) =>
	fc.property(LANDING_TEXT, (text) => {
		const url = landingUrl(text, LANDING_HOSTS);
		meet(url === null ? "refused" : "led");
		if (url === null) return;
		const { beforeId, afterId } = landingAt(url, "rbclick");
		const sent = `${beforeId}TOKEN${afterId}`;
		ok(WITHIN_LANDING_HOSTS.test(sent), sent);
		ok(/^[\x21-\x7e]+$/.test(sent), `it fits into a header: ${sent}`);
		deepEqual(new URL(sent).searchParams.getAll("rbclick"), ["TOKEN"]);
	}),
);

export const CLICK_PROPERTIES: readonly FuzzProperty[] = [TOKENS, REDIRECTS];
