export type FakeAnswer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** Returns a refusal in the form of the service's problems (RFC 9457). */
export function problem(status: number, code: string, detail: string, field?: string): FakeAnswer {
	return { status, body: { title: code, status, code, detail, ...(field === undefined ? {} : { field }) } };
}
