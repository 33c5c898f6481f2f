// Web crypto, wherever this runtime keeps it.

type WebCrypto = Pick<typeof globalThis.crypto, "subtle" | "getRandomValues">;

// Node 18 has web crypto but no global for it. The specifier is a variable so that bundlers for the edge,
// where the global exists, do not try to resolve a Node module.
export async function loadWebCrypto(): Promise<WebCrypto> {
	if (globalThis.crypto?.subtle !== undefined) return globalThis.crypto;
	const specifier: string = "node:crypto";
	const nodeCrypto: typeof import("node:crypto") = await import(specifier);
	return nodeCrypto.webcrypto;
}
