// Reports a sale. .NET 10: dotnet run sender.cs ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
// Mono: mcs -r:System.Net.Http sender.cs && mono sender.exe ORDER-1001 49.90
// Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
// 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
// DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
using System;
using System.Linq;
using System.Net.Http;
using System.Security.Cryptography;
using System.Text;

static class Sender
{
    static void Main(string[] args)
    {
        string service = Setting("RINGBACK_URL") ?? "https://ringback.example";
        string key = Setting("RINGBACK_API_KEY"), secrets = Setting("RINGBACK_SIGNING_SECRET");
        string secret = secrets?.Split(',')[0]; // NEW,OLD while it is replaced: the first one signs
        bool isCounted = args.Length >= 2 && args.Length <= 4;
        if (string.IsNullOrEmpty(key) || string.IsNullOrEmpty(secret) || !isCounted)
        {
            string what = "RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET";
            Console.Error.WriteLine($"Set {what}; give order and amount.");
            Environment.Exit(2);
        }
        if ((key + secret).Any(char.IsWhiteSpace))
        {
            string what = "RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET";
            Console.Error.WriteLine($"{what} has a line break or white space in it.");
            Environment.Exit(2);
        }
        string path = "/v1/conversions";
        // Amounts are strings. The bytes hashed here are exactly those sent below.
        string[] names = { "orderId", "basketValue", "clickId", "couponCode" };
        var fields = args.Select((value, at) => Quote(names[at]) + ":" + Quote(value));
        byte[] body = Encoding.UTF8.GetBytes("{" + string.Join(",", fields) + "}");
        string timestamp = DateTimeOffset.UtcNow.ToUnixTimeSeconds().ToString();
        var random = new byte[16];
        RandomNumberGenerator.Create().GetBytes(random);
        string nonce = Hex(random);
        string digest = Hex(SHA256.Create().ComputeHash(body));
        string signed = string.Join("\n", "POST", path, timestamp, nonce, digest);
        var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret));
        string signature = Hex(hmac.ComputeHash(Encoding.UTF8.GetBytes(signed)));

        // Follow no redirect: it would carry the API key to another address.
        var client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false });
        client.Timeout = TimeSpan.FromSeconds(10);
        HttpResponseMessage answer = null;
        try
        {
            var request = new HttpRequestMessage(HttpMethod.Post, service + path);
            request.Content = new ByteArrayContent(body);
            request.Content.Headers.Add("Content-Type", "application/json");
            request.Headers.Add("Authorization", "Bearer " + key);
            request.Headers.Add("X-Service-Timestamp", timestamp);
            request.Headers.Add("X-Service-Nonce", nonce);
            request.Headers.Add("X-Service-Signature", signature);
            answer = client.SendAsync(request).Result;
        }
        catch (Exception problem)
        {
            // Uncaught, it would end the program with 1, as a refusal does.
            string why = problem.GetBaseException().Message;
            Console.Error.WriteLine($"No answer from {service}: {why}");
            Environment.Exit(75);
        }
        int status = (int)answer.StatusCode;
        Console.WriteLine(status + " " + answer.Content.ReadAsStringAsync().Result);
        string kind = answer.Content.Headers.ContentType?.MediaType;
        // Exit explicitly: on Mono a thread of the client sometimes keeps the program running.
        Environment.Exit(ExitCode(status, kind));
    }

    static int ExitCode(int status, string kind)
    {
        if (kind == "application/json" && (status == 200 || status == 201)) return 0;
        if (status == 401 || status >= 300 && status < 400) return 78;
        if (kind != "application/problem+json") return 75; // a proxy's page
        bool isRefused = status >= 400 && status < 500 && status != 408 && status != 429;
        return isRefused ? 1 : 75;
    }

    static string Setting(string name) => Environment.GetEnvironmentVariable(name);

    static string Hex(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "").ToLower();

    /// <summary>As JSON. The service refuses order ids with control characters anyway.</summary>
    static string Quote(string text) =>
        "\"" + text.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";
}
