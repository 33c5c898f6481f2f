// Claims of conversions. Of the processes that share a table, only one works on a conversion at a time. A
// claim expires by itself, because its process may end without releasing it. It is renewed while the work
// runs.

import type { PostbackEvent } from "../event.ts";
import { makeNonce } from "../hmac.ts";
import { letProcessEnd } from "../let-process-end.ts";

/**
 * Result of a claim. `claimed` means that no other process works on the conversion for now. `busy` means that another
 * process has claimed it. `done` means that the event is not open any more, so nothing was claimed.
 */
export type ClaimResult = "claimed" | "busy" | "done";

export type ClaimSettings = {
	/**
	 * Claims the event's conversion for `claimant` until `forMs` milliseconds from now, in one atomic step. A claim that
	 * has ended, or that is the claimant's own, may be replaced.
	 */
	readonly claim?:
		| ((event: PostbackEvent, claimant: string, forMs: number) => ClaimResult | Promise<ClaimResult>)
		| undefined;
	/** Ends the claimant's claim of the event's conversion, and no claim of another process. */
	readonly release?: ((event: PostbackEvent, claimant: string) => unknown) | undefined;
};

export type Claims = {
	/** Runs `work` while this process has claimed the event's conversion. Rejects if the claim or the work fails. */
	during(event: PostbackEvent, work: () => Promise<void>): Promise<ClaimResult>;
};

/** Time after which a claim ends, which is long enough for a process that is busy for a while. */
const claimedForMs = 30_000;
const renewedEveryMs = claimedForMs / 3;

export function createClaims({ claim, release }: ClaimSettings): Claims {
	if (claim === undefined || release === undefined) {
		return {
			async during(_event, work) {
				await work();
				return "claimed";
			},
		};
	}
	let name: Promise<string> | undefined;
	return {
		async during(event, work) {
			name ??= makeNonce();
			const claimant = await name;
			const renew = async () => claim(event, claimant, claimedForMs);
			const result = await renew();
			if (result !== "claimed") return result;
			const stopRenewing = keepRenewing(renew);
			try {
				await work();
			} finally {
				await stopRenewing();
				await endClaim(async () => release(event, claimant));
			}
			return result;
		},
	};
}

/** Renews a claim at regular times until the returned function is called, or until the claim is lost. */
function keepRenewing(renew: () => Promise<ClaimResult>): () => Promise<unknown> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	let renewal: Promise<unknown> = Promise.resolve();
	let isEnded = false;

	async function renewOnce(): Promise<void> {
		// A renewal that fails is followed by another one before the claim ends.
		const result = await renew().catch(() => "claimed");
		if (result === "claimed" && !isEnded) schedule();
	}

	function schedule(): void {
		timer = setTimeout(() => {
			renewal = renewOnce();
		}, renewedEveryMs);
		letProcessEnd(timer);
	}

	schedule();
	return () => {
		isEnded = true;
		clearTimeout(timer);
		// The caller waits for a renewal that is under way, because a renewal after the release would claim the
		// conversion again.
		return renewal;
	};
}

async function endClaim(release: () => Promise<unknown>): Promise<void> {
	try {
		await release();
	} catch {
		// A failed release is ignored. The claim expires by itself, and the work has succeeded or has reported
		// its own error.
	}
}
