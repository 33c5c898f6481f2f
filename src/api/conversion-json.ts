// A conversion as the API shows it. Amounts are strings, times ISO 8601 in UTC with milliseconds, as in the
// callback's body (contract section 2.1).

import type { Decided } from "../conversions/deps.ts";
import type { Conversion } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";
import type { Answer } from "./signed-call.ts";

export function decidedAnswer(
	{ outcome, conversion, owedProgrammeIds }: Decided<string>,
	programme: Programme,
): Answer {
	return {
		outcome,
		httpStatus: outcome === "RECORDED" ? 201 : 200,
		body: { outcome, conversion: conversionJson(conversion, programme) },
		conversionId: conversion.id,
		owedProgrammeIds,
	};
}

export function conversionJson(conversion: Conversion, programme: Programme): object {
	const { status, window_ends_at_ms: windowEndsAtMs } = conversion;
	return {
		id: conversion.public_id,
		orderId: conversion.order_id,
		programId: programme.public_id,
		status,
		eventType: conversion.event_type,
		basketValue: conversion.basket_value,
		commission: conversion.commission,
		networkFee: conversion.network_fee,
		currency: conversion.currency,
		reason: conversion.reason,
		test: conversion.test === 1,
		source: conversion.source,
		pixelBasketValue: conversion.pixel_basket_value,
		decidedBy: conversion.decided_by,
		occurredAt: isoTime(conversion.occurred_at_ms),
		createdAt: isoTime(conversion.created_at_ms),
		approvesAt: status === "RECORDED" ? isoTime(windowEndsAtMs) : null,
		expiresAt: status === "PARKED" ? isoTime(windowEndsAtMs) : null,
	};
}

function isoTime(atMs: number | null): string | null {
	return atMs === null ? null : new Date(atMs).toISOString();
}
