// The account of a partner. A conversion is owed to the partner to whom it is credited while it is approved. Each change
// of what is owed becomes an entry, so the entries of a conversion always add up to its commission if it is approved, and
// to zero otherwise.

import type { Status } from "#core/domain/conversion.ts";
import { decimalCount, formatMinor, minorUnits } from "#core/domain/money.ts";

export const ENTRY_KINDS = ["EARNED", "CHANGED", "ADJUSTED", "PAID"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** The part of a conversion that decides what is owed, and to whom. */
export interface Owing {
	status: Status;
	commission: string;
	isTest: boolean;
	/** Partner to whom the conversion is credited, or null if it is credited to nobody. */
	partnerId: number | null;
}

export interface EntryAmount {
	partnerId: number;
	kind: Extract<EntryKind, "EARNED" | "CHANGED">;
	amount: string;
}

/**
 * Returns the entries that a move causes: the difference between what was owed before and after it, for each partner.
 * `before` is null for a new conversion. A conversion is earned when it becomes approved, and any later difference is a
 * change.
 */
export function entriesFor(before: Owing | null, after: Owing): EntryAmount[] {
	const wasApproved = before?.status === "APPROVED";
	const kind = wasApproved ? "CHANGED" : "EARNED";
	const differences = new Map<number, bigint>();
	const add = (owing: Owing | null, sign: bigint) => {
		if (owing === null || owing.partnerId === null || owing.isTest || owing.status !== "APPROVED") return;
		const owed = sign * minorUnits(owing.commission);
		differences.set(owing.partnerId, (differences.get(owing.partnerId) ?? 0n) + owed);
	};
	add(before, -1n);
	add(after, 1n);
	const digits = decimalCount(after.commission);
	return [...differences].flatMap(([partnerId, minor]) =>
		minor === 0n ? [] : [{ partnerId, kind, amount: formatMinor(minor, digits) }],
	);
}
