// Properties of the callback's body, the sealing of secrets and the order of ids, for any input.

import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { bodySentAt, composeEvent } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { openSecret, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "#core/domain/sealing.ts";
import { BODY_FIELDS, type CallbackBody } from "../support/callback-form.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { ANY_EVENT_NAME, ANY_SUBJECT, ANY_TEXT, ANY_TIME_MS } from "./any-event.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";
import { ANY_TAMPERING, tamperBytes } from "./tampering.ts";

/** The status that each event announces (contract section 3). */
const STATUS_OF_EVENT: Readonly<Record<EventName, string>> = {
	"conversion.recorded": "RECORDED",
	"conversion.approved": "APPROVED",
	"conversion.rejected": "REJECTED",
	"conversion.reversed": "REVERSED",
};

const COMPOSED = pureProperty("a callback's body has its fourteen fields with the event's values", [], () =>
	fc.property(ANY_EVENT_NAME, ANY_SUBJECT, ANY_TIME_MS, (event, subject, sentAtMs) => {
		const body = bodySentAt(event, composeEvent(subject), sentAtMs);
		const { occurredAtMs, ...rest } = subject;
		const parsed: CallbackBody = JSON.parse(body);
		deepEqual(Object.keys(parsed), BODY_FIELDS);
		for (const field of ["basketValue", "commission", "networkFee"] as const)
			equal(typeof parsed[field], "string");
		deepEqual(parsed, {
			event,
			...rest,
			status: STATUS_OF_EVENT[event],
			occurredAt: new Date(occurredAtMs).toISOString(),
			sentAt: new Date(sentAtMs).toISOString(),
		});
		// The comparison also finds a repeated name, and proves that the bytes do not depend on the encoder.
		equal(body, JSON.stringify(parsed));
		ok(body.isWellFormed());
	}),
);

const ANY_KEY = fc.uint8Array({ minLength: SEALING_KEY_BYTES, maxLength: SEALING_KEY_BYTES });
const ANY_IV = fc.uint8Array({ minLength: SEALING_IV_BYTES, maxLength: SEALING_IV_BYTES });
const ANY_RECEIVER = fc.nat().map(receiverId);

const SEALED = pureProperty(
	"a sealed secret opens to itself, but not with another key, for another receiver or after a change",
	[],
	() =>
		fc.property(
			ANY_KEY,
			ANY_IV,
			ANY_RECEIVER,
			ANY_TEXT,
			ANY_TAMPERING,
			(key, iv, receiver, text, tampering) => {
				const secret = text.toWellFormed();
				const sealed = sealSecret(key, receiver, secret, iv);
				equal(openSecret({ keys: [key] }, receiver, sealed), secret);
				equal(openSecret({ keys: [key] }, receiverId(receiver + 1), sealed), null);
				const otherKey = key.map((byte) => byte ^ 1);
				equal(openSecret({ keys: [otherKey] }, receiver, sealed), null);
				const bytes = Buffer.from(sealed, "base64");
				const changed = tamperBytes(bytes, tampering);
				if (!changed.equals(bytes))
					equal(openSecret({ keys: [key] }, receiver, changed.toString("base64")), null);
			},
		),
);

const OPENED = pureProperty("garbage instead of a sealed secret opens to nothing and never throws", [], () =>
	fc.property(ANY_KEY, ANY_RECEIVER, fc.oneof(ANY_TEXT, fc.base64String()), (key, receiver, sealed) => {
		equal(openSecret({ keys: [key] }, receiver, sealed), null);
	}),
);

const ANY_RANDOM = fc.uint8Array({ minLength: ID_RANDOM_BYTES, maxLength: ID_RANDOM_BYTES });
/**
 * Largest time of a generated id. Ten characters of base 32 can hold later times, but no clock shows them.
 */
const MAX_ID_TIME_MS = Date.UTC(9999, 11, 31);

const IDS = pureProperty("ids sort by their time, and differ if their random bytes differ", [], () =>
	fc.property(
		fc.integer({ min: 0, max: MAX_ID_TIME_MS - 1 }),
		fc.integer({ min: 1, max: 10 ** 9 }),
		ANY_RANDOM,
		ANY_RANDOM,
		fc.integer({ min: 0, max: ID_RANDOM_BYTES * 8 - 1 }),
		(nowMs, gapMs, one, other, bit) => {
			const earlier = makeId("cnv", nowMs, one);
			const later = makeId("cnv", Math.min(nowMs + gapMs, MAX_ID_TIME_MS), other);
			ok(earlier < later, `${earlier} before ${later}`);
			ok(/^cnv_[0-9A-HJKMNP-TV-Z]{26}$/.test(earlier), earlier);
			const flipped = one.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
			notEqual(earlier, makeId("cnv", nowMs, flipped), "every bit of chance counts");
		},
	),
);

export const EVENT_PROPERTIES: readonly FuzzProperty[] = [COMPOSED, SEALED, OPENED, IDS];
