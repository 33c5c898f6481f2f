// Adapter for Express 4 and 5: app.use("/postback", createExpressReceiver({ … })), before express.json().
// After express.json() the signed bytes are lost, and the receiver answers 500 and logs the reason.
// express.raw() and routers do no harm, because the path is read from `originalUrl`.

import { openReceiver, type Receiver, type ReceiverSource } from "../receiver.ts";

export function createExpressReceiver(source: ReceiverSource): Receiver["node"] {
	return openReceiver(source).node;
}
