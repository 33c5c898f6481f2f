// Asks a running process whether it can work, as a load balancer does.

/** Resolves to the status of the answer; rejects when there is none in time. What it says besides does not matter. */
export async function askHealth(url: string, timeoutMs: number): Promise<number> {
	const signal = AbortSignal.timeout(timeoutMs);
	try {
		const { status, body } = await fetch(url, { signal, headers: { connection: "close" } });
		await body?.cancel();
		return status;
	} catch {
		throw new Error(signal.aborted ? "no answer in time" : "nobody answers");
	}
}
