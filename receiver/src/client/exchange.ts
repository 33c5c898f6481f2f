// One request and what came back, within a deadline and a limit on bytes. Says what happened, judges nothing.

export type Fetch = typeof globalThis.fetch;

export type OutgoingRequest = {
	readonly url: string;
	readonly method: "GET" | "POST";
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string | undefined;
};

export type Exchange =
	| {
			readonly kind: "answer";
			readonly status: number;
			readonly headers: { get(name: string): string | null };
			/** Undefined when the body is larger than the limit. */
			readonly text: string | undefined;
	  }
	| { readonly kind: "redirect"; readonly status: number; readonly location: string | null }
	| { readonly kind: "no_answer"; readonly detail: string }
	| { readonly kind: "aborted" };

/** A page of 200 conversions with the longest order ids is under 300 KB. */
const maxAnswerBytes = 1_048_576;

export async function exchange(
	fetch: Fetch,
	request: OutgoingRequest,
	timeoutMs: number,
	signal: AbortSignal | undefined,
): Promise<Exchange> {
	if (signal?.aborted) return { kind: "aborted" };
	const controller = new AbortController();
	const abort = () => controller.abort();
	const timer = setTimeout(abort, timeoutMs);
	signal?.addEventListener("abort", abort, { once: true });
	try {
		const { url, method, headers, body } = request;
		const response = await fetch(url, {
			method,
			headers: { ...headers, Accept: "application/json" },
			// Followed, a redirect would carry the API key to another place, with a signature for this path.
			redirect: "manual",
			signal: controller.signal,
			...(body === undefined ? {} : { body }),
		});
		return await readResponse(response);
	} catch (error) {
		if (signal?.aborted) return { kind: "aborted" };
		if (controller.signal.aborted) return { kind: "no_answer", detail: `no answer within ${timeoutMs} ms` };
		return { kind: "no_answer", detail: describeNetworkError(error) };
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", abort);
	}
}

async function readResponse(response: Response): Promise<Exchange> {
	const { status, headers } = response;
	// By the standard a redirect that is not followed shows neither its status nor where to; servers' runtimes
	// show both.
	if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
		await response.body?.cancel();
		return { kind: "redirect", status, location: headers.get("location") };
	}
	return { kind: "answer", status, headers, text: await readText(response.body) };
}

async function readText(body: Response["body"]): Promise<string | undefined> {
	if (body === null) return "";
	const reader = body.getReader();
	const decoder = new TextDecoder();
	let text = "";
	let bytes = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text + decoder.decode();
		bytes += value.byteLength;
		if (bytes > maxAnswerBytes) {
			await reader.cancel();
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}

// The code alone (ECONNREFUSED, ENOTFOUND …): an error's message may quote what was sent.
function describeNetworkError(error: unknown): string {
	for (const one of [error, error instanceof Error ? error.cause : undefined]) {
		const code = typeof one === "object" && one !== null && "code" in one ? one.code : undefined;
		if (typeof code === "string" && /^\w{1,64}$/.test(code)) return `the connection failed (${code})`;
	}
	return "the connection failed";
}
