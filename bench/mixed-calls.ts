// The calls of the workload "mix", which it shares with its generator.

export type MixedCall = "sale" | "repeat" | "approval" | "refund";

/** Ten calls in a row: 60 % new sales, 20 % repeats, 10 % approvals and 10 % refunds. */
export const MIX: readonly MixedCall[] = [
	"sale",
	"repeat",
	"sale",
	"approval",
	"sale",
	"sale",
	"repeat",
	"sale",
	"refund",
	"sale",
];

export function countOf(call: MixedCall, calls: number): number {
	return (calls / MIX.length) * MIX.filter((one) => one === call).length;
}

/** Divides the earlier sales among the calls that are about them. `calls` must be a multiple of the mix's length. */
export function earlierSales(calls: number): {
	total: number;
	/** Number of the first sale that each kind of call uses. */
	firstOf: Record<Exclude<MixedCall, "sale">, number>;
} {
	const approval = countOf("repeat", calls);
	const refund = approval + countOf("approval", calls);
	return { total: refund + countOf("refund", calls), firstOf: { repeat: 0, approval, refund } };
}
