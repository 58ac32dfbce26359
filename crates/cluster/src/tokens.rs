//! Bearer tokens: the administrator's, and those of service accounts, which say themselves whose they are and until when.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value, json};

use crate::entropy::Entropy;
use crate::user::User;

/// Makes tokens and knows them again.
pub struct Tokens {
    admin: String,
    key: hmac::Key,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Tokens")
    }
}

impl Tokens {
    /// Secrets drawn from a source; tokens of earlier ones do not hold here.
    pub fn new(entropy: &Entropy) -> Self {
        Self { admin: entropy.secret(), key: hmac::Key::new(hmac::HMAC_SHA256, entropy.secret().as_bytes()) }
    }

    /// The administrator's token.
    pub fn admin(&self) -> &str {
        &self.admin
    }

    /// A token for a user, in the form of a signed JSON web token.
    pub fn issue(&self, user: &User, until: Timestamp) -> String {
        let claims = json!({"sub": user.name, "groups": user.groups, "exp": until.as_second()});
        let signed =
            format!("{}.{}", BASE64.encode(r#"{"alg":"HS256","typ":"JWT"}"#), BASE64.encode(claims.to_string()));
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature.as_ref()))
    }

    /// Whose token this is, if it holds.
    pub fn user(&self, token: &str, now: Timestamp) -> Option<User> {
        // Compared through a keyed hash, so that the time it takes tells nothing.
        let digest = hmac::sign(&self.key, self.admin.as_bytes());
        if hmac::verify(&self.key, token.as_bytes(), digest.as_ref()).is_ok() {
            return Some(User::admin());
        }
        let (signed, signature) = token.rsplit_once('.')?;
        hmac::verify(&self.key, signed.as_bytes(), &BASE64.decode(signature).ok()?).ok()?;
        let claims: Value = serde_json::from_slice(&BASE64.decode(signed.split_once('.')?.1).ok()?).ok()?;
        let groups = claims["groups"].as_array()?.iter().filter_map(|group| group.as_str().map(ToOwned::to_owned));
        (claims["exp"].as_i64()? > now.as_second())
            .then(|| Some(User { name: claims["sub"].as_str()?.to_owned(), groups: groups.collect() }))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;

    #[test]
    fn tokens_hold_for_their_time_and_nobody_else_makes_them() {
        let tokens = Tokens::new(&Entropy::seeded(1));
        let now = Timestamp::UNIX_EPOCH;
        let user = User::service_account("n", "a");
        let token = tokens.issue(&user, now + 10.seconds());
        assert_eq!(tokens.user(&token, now), Some(user.clone()));
        assert_eq!(tokens.user(&token, now + 10.seconds()), None, "it has lapsed");
        assert_eq!(tokens.user(tokens.admin(), now), Some(User::admin()));
        let other = Tokens::new(&Entropy::seeded(2));
        for wrong in [other.issue(&user, now + 10.seconds()).as_str(), "", "a.b.c", &token[1..]] {
            assert_eq!(tokens.user(wrong, now), None, "{wrong}");
        }
    }
}
