// Models payments. The model says which statements can be paid after payments and undone payments that were made at
// the same moment.

export interface PaymentAct {
	kind: "pay" | "undo";
	/** Statements of the action, of which all are paid or none. Only one payment can be undone at a time. */
	statements: readonly { id: number; isCarried: boolean }[];
	/** "done", the code of the refusal, or null if no answer came. */
	answer: string | null;
}

/** Returns the possible sets of paid statements that agree with every answer, if the actions happened in any order. */
export function explainPayments(
	paid: ReadonlySet<number>,
	acts: readonly PaymentAct[],
): ReadonlySet<number>[] {
	if (acts.length === 0) return [paid];
	return acts.flatMap((act, index) => {
		const rest = acts.filter((_, at) => at !== index);
		return afterPayment(paid, act).flatMap((after) => explainPayments(after, rest));
	});
}

function afterPayment(
	paid: ReadonlySet<number>,
	{ kind, statements, answer }: PaymentAct,
): ReadonlySet<number>[] {
	const ids = new Set(statements.map(({ id }) => id));
	const obstacles = statements.flatMap(({ id, isCarried }) => {
		if (kind === "undo") return paid.has(id) ? [] : ["statement_not_paid"];
		if (isCarried) return ["statement_carried_forward"];
		return paid.has(id) ? ["statement_already_paid"] : [];
	});
	// A process with a wrong clock may think that the day of the payment is before the issue or in the future.
	const refusals = kind === "pay" ? [...obstacles, "invalid_date"] : obstacles;
	if (obstacles.length > 0) return answer === null || refusals.includes(answer) ? [paid] : [];
	const after = kind === "pay" ? paid.union(ids) : paid.difference(ids);
	if (answer === "done") return [after];
	if (answer === null) return [paid, after];
	return refusals.includes(answer) ? [paid] : [];
}
