// One client that calls a programme's pixel over as many connections as it is told, each with its next call as soon
// as the last one is answered, every call with an order of its own. Ends with its parent.

import { Pool } from "undici";
import { serveParent } from "../support/forked-process.ts";
import { PIXEL_FLOOD_MESSAGES } from "./pixel-flood-messages.ts";

const [serviceUrl = "", programmeId = "", connections = "1", forwardedFor = ""] = process.argv.slice(2);
const pool = new Pool(serviceUrl, { connections: Number(connections) });
const headers = forwardedFor === "" ? {} : { "x-forwarded-for": forwardedFor };
let orders = 0;
let answered = 0;

async function flood(): Promise<never> {
	for (;;) {
		const path = `/pixel/${programmeId}.gif?orderId=flood-${orders++}&basketValue=1.00`;
		const response = await pool.request({ path, method: "GET", headers });
		const image = await response.body.bytes();
		if (response.statusCode !== 200 || image.length === 0) throw new Error(`answered ${response.statusCode}`);
		answered++;
	}
}

for (let sender = 0; sender < Number(connections); sender++) void flood();
serveParent(PIXEL_FLOOD_MESSAGES, "flooding", () => answered);
