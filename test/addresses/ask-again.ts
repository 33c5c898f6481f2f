// A look-up that timed out on a machine that stands still now and then says nothing of the address: it is asked
// again, a few times. Whatever else comes out is final.

/** A defect fails each time, a stalled machine hardly three times in a row. */
export const MAX_TRIES = 3;

export async function askAgain<Answer>(
	ask: () => Promise<Answer>,
	isTimedOut: (answer: Answer) => boolean,
): Promise<Answer> {
	for (let left = MAX_TRIES - 1; ; left--) {
		const answer = await ask();
		if (left <= 0 || !isTimedOut(answer)) return answer;
	}
}
