// For Express 4 and 5: app.use("/postback", createExpressReceiver({ … })), before express.json(). After
// express.json() the signed bytes are gone, and the receiver answers 500 and logs why. express.raw() and
// routers are fine, because the path is read from `originalUrl`.

import { openReceiver, type Receiver, type ReceiverSource } from "../receiver.ts";

export function createExpressReceiver(source: ReceiverSource): Receiver["node"] {
	return openReceiver(source).node;
}
