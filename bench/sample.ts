// A callback of ordinary size, which all comparisons use.

import type { EventSubject } from "#core/domain/event.ts";

export const SAMPLE_SUBJECT: EventSubject = {
	conversionId: "cnv_01JCQ0Z5R8W3V4T9K2M7N6P5QX",
	orderId: "ORDER-2026-000123456",
	programId: "prg_01JCQ0Z5R8W3V4T9K2M7N6P5QX",
	status: "APPROVED",
	eventType: "SALE",
	basketValue: "129.90",
	commission: "10.39",
	networkFee: "2.60",
	currency: "EUR",
	reason: null,
	test: false,
	occurredAtMs: Date.UTC(2026, 0, 15, 12),
};
