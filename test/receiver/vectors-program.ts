// A program that checks the installed package against the shared vectors and prints how many it checked. Each
// must verify unchanged (a callback is always a POST), and be refused with an altered path, secret or body.

export const VECTORS_PROGRAM = `
import { readFileSync } from "node:fs";
import { verifyPostback } from "@ringback/receiver";
const file = new URL(import.meta.resolve("@ringback/receiver/vectors.json"));
const { vectors } = JSON.parse(readFileSync(file, "utf8"));
let checked = 0;
for (const { method, target, timestamp, nonce, secret, bodyBase64, signature } of vectors) {
	const rawBody = Buffer.from(bodyBase64, "base64");
	const headers = { "X-Service-Event": "conversion.approved", "X-Service-Timestamp": timestamp,
		"X-Service-Nonce": nonce, "X-Service-Signature": signature };
	const request = { path: target, headers, rawBody, secret, now: Number(timestamp) * 1000 };
	const judge = async (changes) => {
		const result = await verifyPostback({ ...request, ...changes });
		return result.ok || result.reason === "malformed_body" ? "genuine" : result.reason;
	};
	const verdicts = [await judge({}), await judge({ path: target + "x" }), await judge({ secret: secret + "x" }),
		await judge({ rawBody: Buffer.concat([rawBody, Buffer.from(" ")]) })];
	const expected = [method === "POST" ? "genuine" : "bad_signature", "bad_signature", "bad_signature", "bad_signature"];
	if (String(verdicts) !== String(expected)) throw new Error(target + ": " + verdicts);
	checked += 1;
}
console.log("checked " + checked);
`;
